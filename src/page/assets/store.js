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
  useEffect(() => {
    const seen = store.get();
    const stop = store.listen(() => draw((count) => count + 1));
    if (store.get() !== seen) draw((count) => count + 1);
    return stop;
  }, [store]);
  return store.get();
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
