/** What a file system can do to us: full, read-only, gone, forbidden. It is said in words, never as a bug. */
const CODES: ReadonlySet<string> = new Set([
  "EACCES",
  "EBADF",
  "EBUSY",
  "EDQUOT",
  "EEXIST",
  "EFBIG",
  "EIO",
  "EISDIR",
  "ELOOP",
  "EMFILE",
  "ENAMETOOLONG",
  "ENFILE",
  "ENODEV",
  "ENOENT",
  "ENOSPC",
  "ENOTDIR",
  "ENOTEMPTY",
  "EPERM",
  "EROFS",
  "ESTALE",
  "EXDEV",
]);

export const isFileSystemError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && CODES.has((error as NodeJS.ErrnoException).code ?? "");
