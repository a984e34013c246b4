/** Which service Copilot's model calls go to: the user's own by variables, as its command line has them; else GitHub's. */

type Env = Readonly<Record<string, string>>;

/** Undefined: GitHub's, with the user's login. */
export function providerOf(env: Env, isolated: boolean): Record<string, unknown> | undefined {
  if (isolated) {
    const baseUrl = env.OPENAI_BASE_URL ?? "http://127.0.0.1:9/v1";
    const apiKey = env.OPENAI_API_KEY ?? "none";
    return { type: "openai", wireApi: "completions", baseUrl, apiKey, maxPromptTokens: REHEARSAL_WINDOW };
  }
  const baseUrl = env.COPILOT_PROVIDER_BASE_URL;
  if (baseUrl === undefined || baseUrl === "") return undefined;
  const most = Number(env.COPILOT_PROVIDER_MAX_PROMPT_TOKENS ?? Number.NaN);
  return {
    type: env.COPILOT_PROVIDER_TYPE ?? "openai",
    ...given("wireApi", env.COPILOT_PROVIDER_WIRE_API),
    baseUrl,
    ...given("apiKey", env.COPILOT_PROVIDER_API_KEY),
    ...given("bearerToken", env.COPILOT_PROVIDER_BEARER_TOKEN),
    ...(Number.isNaN(most) ? {} : { maxPromptTokens: most }),
  };
}

const given = (key: string, value: string | undefined): Record<string, string> =>
  value === undefined || value === "" ? {} : { [key]: value };

const REHEARSAL_WINDOW = 200_000;
