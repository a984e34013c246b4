/** A promise that is not waited for longer than this. */
export function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("it does not answer")), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
