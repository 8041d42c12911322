import { tap } from 'node:test/reporters';
export default async function* (source) {
  const open = new Map();
  async function* seen() {
    for await (const event of source) {
      const { name, nesting, file } = event.data || {};
      const key = nesting + ' ' + name;
      const isEnd = event.type === 'test:pass' || event.type === 'test:fail';
      if (event.type === 'test:enqueue' && file && !file.endsWith(name)) {
        const test = open.get(key) || { count: 0, name, file };
        test.count++;
        open.set(key, test);
      } else if (isEnd && open.has(key)) {
        open.get(key).count--;
      }
      yield event;
    }
  }
  yield* tap(seen());
  for (const { count, name, file } of open.values()) {
    if (count > 0) yield '\x23 proctor-unended ' + JSON.stringify([file, name]) + '\n';
  }
}
