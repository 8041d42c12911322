// A value that views look at: they are drawn again when it changes.
import { useEffect, useState } from "./vendor/preact.js";

export function createStore(initial) {
  let value = initial;
  const listeners = new Set();
  return {
    get: () => value,
    set(next) {
      value = next;
      for (const listener of [...listeners]) listener();
    },
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export function useStore(store) {
  const [, draw] = useState(0);
  const value = store.get();
  useEffect(() => {
    const stop = store.listen(() => draw((times) => times + 1));
    // The value may have changed between the drawing and this moment.
    if (store.get() !== value) draw((times) => times + 1);
    return stop;
  }, [store]);
  return value;
}

// The time now, drawn again at an interval of so many milliseconds; 0 stops it.
export function useNow(interval) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (!interval) return undefined;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), interval);
    return () => clearInterval(timer);
  }, [interval]);
  return interval ? now : Date.now();
}
