/** What the MCP server with Segno's tools is called: agents make their names for the tools of it. */
export const SERVER_NAME = "segno";
