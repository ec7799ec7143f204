/**
 * One HTTP answer, whole or not at all: the only place of ours that uses the network, and only for `delivery observe` (facts 15).
 * Nothing is tried twice, so that no second try hides a failure. No proxy, no cookie, no credential; certificates are checked whatever the
 * environment says.
 */
import { lookup } from 'node:dns'
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { LookupFunction } from 'node:net'
import { escapeText } from '../escape.ts'
import { CONDITION_QUOTE_LIMIT_CHARACTERS, ENDPOINT_TERMINATION_GRACE_MS } from '../limits.ts'
import { isLoopbackHost, urlProblem } from '../policy/delivery.ts'
import { sha256 } from '../store/digest.ts'

export interface Answer {
  readonly status: number
  readonly body: Buffer
  /** 64 hexadecimal digits over the bytes of the body. */
  readonly sha256: string
}

/** A reason is one harmless line. */
export type Fetched = { readonly known: Answer } | { readonly unavailable: string }

export interface EndpointRequest {
  readonly url: string
  /** For everything, redirects included. */
  readonly timeoutMs: number
  readonly maxBytes: number
  readonly maxRedirects: number
  readonly signal: AbortSignal
  readonly userAgent: string
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** What ends a request without an answer; everything else that is thrown is a defect. */
class NoAnswer extends Error {}

/** A piece of what somebody else sent, harmless and short. */
const quote = (text: string): string =>
  escapeText(
    JSON.stringify(
      text.length > CONDITION_QUOTE_LIMIT_CHARACTERS ? `${text.slice(0, CONDITION_QUOTE_LIMIT_CHARACTERS)}…` : text,
    ),
  )

/**
 * Gets a URL. Never throws for anything that the other side, the network, the time limit or the caller's signal does. A request
 * that was cancelled is asked to end first; after a grace its socket is destroyed, whatever it waits for.
 */
export const fetchEndpoint = async (asked: EndpointRequest): Promise<Fetched> => {
  const cancel = new AbortController()
  const open = new Set<ClientRequest>()
  let hardStop: NodeJS.Timeout | undefined
  const stopped = new Promise<never>((_, reject) => {
    cancel.signal.addEventListener('abort', () => {
      hardStop = setTimeout(() => {
        for (const one of open) {
          one.socket?.destroy()
          one.destroy()
        }
        reject(cancel.signal.reason)
      }, ENDPOINT_TERMINATION_GRACE_MS)
    })
  })
  stopped.catch(() => {})
  const late = setTimeout(
    () => cancel.abort(new NoAnswer(`no whole answer within ${asked.timeoutMs / 1000} s`)),
    asked.timeoutMs,
  )
  const interrupt = (): void => cancel.abort(new NoAnswer('interrupted'))
  asked.signal.addEventListener('abort', interrupt, { once: true })
  if (asked.signal.aborted) interrupt()
  try {
    return { known: await Promise.race([follow(asked, cancel.signal, open), stopped]) }
  } catch (error) {
    return { unavailable: reasonFor(cancel.signal.aborted ? cancel.signal.reason : error) }
  } finally {
    clearTimeout(late)
    clearTimeout(hardStop)
    asked.signal.removeEventListener('abort', interrupt)
    for (const one of open) one.destroy()
  }
}

/** What Node calls the ends that a request can come to; its own words differ from version to version. */
const ENDS: readonly (readonly [code: RegExp, words: string])[] = [
  [/^ECONNREFUSED$/, 'nobody listens there'],
  [/^(ECONNRESET|EPIPE)$/, 'the connection was cut'],
  [/^(ENOTFOUND|EAI_\w+)$/, 'the name of the host is not found'],
  [/^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENETDOWN)$/, 'the host is not reached'],
  [/^HPE_/, 'the answer is no HTTP'],
  [/CERT|SELF_SIGNED|ISSUER|ALTNAME|^UNABLE_TO_|^HOSTNAME_MISMATCH$|^CRL_/, 'the certificate is not trusted'],
  [/^(ERR_SSL|ERR_TLS|EPROTO)/, 'there is no TLS with it'],
]

const reasonFor = (error: unknown): string => {
  if (error instanceof NoAnswer) return error.message
  if (!(error instanceof Error)) return escapeText(String(error))
  const { code } = error as NodeJS.ErrnoException
  if (code === undefined) return escapeText(error.message || error.name)
  const words = ENDS.find(([pattern]) => pattern.test(code))?.[1] ?? escapeText(error.message)
  return `${words} (${code})`
}

/** Follows redirects, each of which has to stay at the host, and what was https stays https. */
const follow = async (asked: EndpointRequest, signal: AbortSignal, open: Set<ClientRequest>): Promise<Answer> => {
  let url = new URL(asked.url)
  for (let redirects = 0; ; redirects += 1) {
    const answer = await get(url, asked, signal, open)
    if (!('location' in answer)) return answer
    if (redirects === asked.maxRedirects) throw new NoAnswer(`more than ${asked.maxRedirects} redirects`)
    url = nextUrl(url, answer.location)
  }
}

const nextUrl = (from: URL, location: string): URL => {
  if (!URL.canParse(location, from.href)) throw new NoAnswer(`a redirect to ${quote(location)}, which is no URL`)
  const to = new URL(location, from)
  to.hash = ''
  const shown = quote(to.username === '' && to.password === '' ? to.href : `${to.protocol}//…@${to.host}`)
  const problem = urlProblem(to.href)
  if (problem !== undefined) throw new NoAnswer(`a redirect to ${shown}: ${problem}`)
  if (from.protocol === 'https:' && to.protocol !== 'https:')
    throw new NoAnswer(`a redirect to ${shown}, away from https`)
  if (to.host !== from.host) throw new NoAnswer(`a redirect to another host, ${shown}`)
  return to
}

type Got = Answer | { readonly location: string }

const get = (url: URL, asked: EndpointRequest, signal: AbortSignal, open: Set<ClientRequest>): Promise<Got> =>
  new Promise((resolve, reject) => {
    const problem = urlProblem(url.href)
    if (problem !== undefined) return reject(new NoAnswer(problem))
    const secure = url.protocol === 'https:'
    const request = (secure ? httpsRequest : httpRequest)(url, {
      method: 'GET',
      // A connection of its own, to exactly that host: an agent could know proxies, and keep connections of others.
      agent: false,
      ...(secure ? { rejectUnauthorized: true } : { lookup: lookupLoopback }),
      // A compressed body would have another digest than what it holds; what a cache has is not what is live.
      headers: {
        accept: '*/*',
        'accept-encoding': 'identity',
        'cache-control': 'no-cache',
        'user-agent': asked.userAgent,
      },
      signal,
    })
    open.add(request)
    request.on('error', reject)
    let answered = false
    request.on('close', () => {
      open.delete(request)
      // A connection that turns into something else ends without an error.
      if (!answered) reject(new NoAnswer('the connection ended without an answer'))
    })
    request.on('response', response => {
      answered = true
      read(response, asked.maxBytes).then(resolve, error => {
        request.destroy()
        reject(error)
      })
    })
    request.end()
  })

/** Addresses of this machine alone: a resolver that knows another `localhost` is not followed there. */
const lookupLoopback: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    const own = (addresses ?? []).filter(({ address }) =>
      isLoopbackHost(address.includes(':') ? `[${address}]` : address),
    )
    const [first] = own
    if (error || first === undefined) {
      callback(error ?? new NoAnswer(`${quote(hostname)} is not this machine here`), '', 0)
    } else if (options.all) callback(null, own)
    else callback(null, first.address, first.family)
  })
}

/** The whole body and nothing but it, or a reason: a part of a body has a digest too, which would be that of something else. */
const read = async (response: IncomingMessage, maxBytes: number): Promise<Got> => {
  const { statusCode: status = 0, headers } = response
  const { location } = headers
  if (REDIRECTS.has(status) && location !== undefined) {
    response.destroy()
    return { location }
  }
  const encoding = headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity') throw new NoAnswer(`a body that is encoded as ${quote(encoding)}`)
  const length = headers['content-length']
  const bodiless = status === 204 || status === 304
  if (length === undefined && headers['transfer-encoding'] === undefined && !bodiless) {
    throw new NoAnswer('a body of unknown length, so that nobody can tell whether it is whole')
  }
  const tooLarge = (): NoAnswer => new NoAnswer(`a body of more than ${maxBytes} bytes`)
  if (Number(length) > maxBytes) throw tooLarge()
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > maxBytes) throw tooLarge()
      chunks.push(chunk)
    }
  } catch (error) {
    if (error instanceof NoAnswer) throw error
    throw new NoAnswer(`only ${size} bytes of the body came: ${reasonFor(error)}`)
  }
  if (!response.complete || (length !== undefined && !bodiless && size !== Number(length))) {
    throw new NoAnswer(`only ${size} bytes of the body came`)
  }
  const body = Buffer.concat(chunks)
  return { status, body, sha256: sha256(body) }
}
