/**
 * What secrets look like: one list for both uses. A commit is refused for what surely is one (`sure`); in journals and
 * blobs also what might be one is taken out (`wide`, where it differs), because nobody misses it there.
 */
export interface SecretForm {
  what: string;
  sure: RegExp;
  wide?: RegExp;
  /** Text without which it is none, where looking for that is much faster. */
  needs?: string;
}

/** Each is a form of its own, so that ordinary text never fits. */
export const SECRET_FORMS: readonly SecretForm[] = [
  {
    what: "an AWS access key",
    sure: /\b(?:AKIA|ASIA)(?!IOSFODNN7)[0-9A-Z]{16}\b/,
    wide: /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/,
  },
  {
    what: "an Anthropic key",
    needs: "sk-ant-",
    sure: /\bsk-ant-[a-z]+\d{2}-[\w-]{40,}/,
    wide: /\bsk-ant-[A-Za-z0-9_-]{10,}/,
  },
  {
    what: "an OpenAI key",
    needs: "sk-",
    sure: /\bsk-(?:proj-)?[A-Za-z0-9_-]{40,}\b/,
    wide: /\bsk-(?:proj-)?[A-Za-z0-9]{20,}/,
  },
  { what: "a Google API key", needs: "AIza", sure: /\bAIza[0-9A-Za-z_-]{35}\b/ },
  { what: "a GitLab token", needs: "glpat-", sure: /\bglpat-[\w-]{20,}\b/ },
  { what: "an npm token", needs: "npm_", sure: /\bnpm_[A-Za-z0-9]{36}\b/ },
  { what: "a Stripe key", needs: "k_live_", sure: /\b[rs]k_live_[0-9a-zA-Z]{24,}\b/ },
  { what: "a Hugging Face token", needs: "hf_", sure: /\bhf_[A-Za-z]{34,}\b/ },
  {
    what: "a GitHub token",
    needs: "github_pat_",
    sure: /\bgithub_pat_\w{60,}\b/,
    wide: /\bgithub_pat_[A-Za-z0-9_]{40,}/,
  },
  { what: "a GitHub token", sure: /\bgh[opsur]_[A-Za-z0-9]{36,}\b/, wide: /\bgh[opsur]_[A-Za-z0-9]{30,}/ },
  { what: "a SendGrid key", needs: "SG.", sure: /\bSG\.[\w-]{20,}\.[\w-]{40,}/ },
  {
    what: "a private key",
    needs: "PRIVATE KEY",
    sure: /-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----/,
    wide: /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----/,
  },
  {
    what: "a Slack token",
    needs: "xox",
    sure: /\bxox[abprs]-\d{8,}-[\w-]{10,}/,
    wide: /\bxox[abprs]-[A-Za-z0-9-]{10,}/,
  },
  {
    what: "a password in an address",
    needs: "://",
    sure: /\b[a-z][a-z0-9+]*:\/\/[^\s:@/'"]+:(?!\$|<|\{|x{3,}|\*{3,}|password\b|pass\b|secret\b)[^\s@/'"]{8,}@(?!localhost|127\.|example\.)[\w.-]+/i,
  },
];

/** What the library that reads files knows already, and texts need, too. */
export const TOKEN_OF_A_LOGIN = /\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}/;
