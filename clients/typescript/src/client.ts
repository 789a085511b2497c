import { Resources } from './generated/resources.js'
import { Transport, type ClientOptions } from './transport.js'

/**
 * The client of the API. Each resource has its operations as methods: first ids, then the body, then query parameters,
 * then options of the request.
 *
 * ```ts
 * const touchline = new Touchline({ baseUrl: 'https://club.example.org', apiKey: process.env.TOUCHLINE_API_KEY })
 * for await (const team of touchline.teams.list({ sport: 'soccer' })) console.log(team.name)
 * ```
 */
export class Touchline extends Resources {
  constructor(options: ClientOptions = {}) {
    super(new Transport(options))
  }
}
