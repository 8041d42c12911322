'use strict'

const ms = require('..')

describe('texts', () => {
  test.each([
    ['100', 100], ['1m', 60000], ['1h', 3600000], ['2d', 172800000], ['3w', 1814400000], ['1s', 1000], ['100ms', 100],
    ['1y', 31557600000], ['1.5h', 5400000], ['1   s', 1000], ['-3 min', -180000], ['-.5h', -1800000], ['53 milliseconds', 53]
  ])('%s', (text, expected) => {
    expect(ms(text)).toBe(expected)
  })

  test('no number', () => {
    expect(ms('ten seconds')).toBeUndefined()
  })

  test('too long', () => {
    expect(ms('1'.repeat(101))).toBeUndefined()
  })
})

describe('numbers', () => {
  test.each([
    [500, '500ms'], [-500, '-500ms'], [1000, '1s'], [60000, '1m'], [3600000, '1h'], [86400000, '1d'], [234234234, '3d']
  ])('%d', (number, expected) => {
    expect(ms(number)).toBe(expected)
  })

  test.each([[500, '500 ms'], [1000, '1 second'], [10000, '10 seconds'], [60000, '1 minute'], [7200000, '2 hours'], [86400000, '1 day']])(
    '%d in full',
    (number, expected) => {
      expect(ms(number, { long: true })).toBe(expected)
    }
  )
})

test.each([[''], [undefined], [null], [[]], [{}], [NaN], [Infinity]])('refuses %p', (value) => {
  expect(() => ms(value)).toThrow(/val is not/)
})
