/** Opens a link in the user's browser, where there is one. */
export async function openInBrowser(link: string): Promise<void> {
  // Nobody waits for it, and where there is none, the link that was printed serves.
  const { default: open } = await import("open");
  await open(link).catch(() => undefined);
}
