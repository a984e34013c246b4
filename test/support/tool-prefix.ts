/** What Claude Code, and the agent in process, call Segno's tools. */
export const TOOL_PREFIX = "mcp__segno__";
