/** What we use of Copilot's SDK: an optional peer that brings a native module, loaded only when Copilot works. */
import { pathToFileURL } from "node:url";

export interface CopilotEvent {
  type: string;
  /** Of a sub-agent, whose. */
  agentId?: string;
  data: Record<string, unknown>;
}

export interface RequestContext {
  parentAgentId?: string;
  interactionType?: string;
  signal: AbortSignal;
}

export interface CopilotSdkSession {
  sessionId: string;
  send(options: { prompt: string }): Promise<string>;
  abort(): Promise<void>;
}

export interface SessionConfig {
  model?: string;
  workingDirectory: string;
  provider?: Record<string, unknown>;
  streaming: boolean;
  infiniteSessions: { enabled: boolean };
  skipCustomInstructions?: boolean;
  enableConfigDiscovery?: boolean;
  excludedTools?: string[];
  tools: unknown[];
  onPermissionRequest(request: PermissionRequest): { kind: "approve-once" } | { kind: "reject"; feedback: string };
  hooks: {
    onPreToolUse(input: {
      toolName: string;
      toolArgs: unknown;
    }): { permissionDecision: "deny"; permissionDecisionReason: string } | undefined;
  };
  onEvent(event: CopilotEvent): void;
}

export interface PermissionRequest {
  kind: string;
  toolCallId?: string;
}

export interface CopilotSdkClient {
  start(): Promise<void>;
  stop(): Promise<unknown>;
  forceStop(): Promise<unknown>;
  createSession(config: SessionConfig): Promise<CopilotSdkSession>;
  resumeSession(id: string, config: SessionConfig): Promise<CopilotSdkSession>;
  getAuthStatus(): Promise<{ isAuthenticated?: boolean; login?: string }>;
}

interface RequestHandler {
  sendRequest(request: Request, context: RequestContext): Promise<Response>;
}

export interface Sdk {
  CopilotClient: new (options: {
    workingDirectory: string;
    useLoggedInUser: boolean;
    env: Record<string, string>;
    logLevel: "none";
    requestHandler?: RequestHandler;
  }) => CopilotSdkClient;
  CopilotRequestHandler: new () => RequestHandler;
  defineTool(name: string, tool: Record<string, unknown>): unknown;
}

const NAME = "@github/copilot-sdk";

/** Undefined where it is not installed. `from`: its main file, if it is somewhere else. */
export async function loadSdk(from: string | undefined): Promise<Sdk | undefined> {
  try {
    return (await import(/* @vite-ignore */ from === undefined ? NAME : pathToFileURL(from).href)) as Sdk;
  } catch {
    return undefined;
  }
}
