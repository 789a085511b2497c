//! The report: the table, the machine, and how to read the numbers.

use crate::machine::Machine;
use crate::options::Measure;
use crate::table::Table;

pub(crate) fn page(measure: &Measure, machine: &Machine, table: &Table) -> String {
    let timing = measure.timing();
    let (met, targets) = table.count_targets();
    let command = &measure.command;
    let (seconds, rounds) = (timing.measured.as_secs(), timing.rounds);
    let quick = if measure.is_quick() {
        "\n**This was a quick run: one short round on a tenth of the data. Its numbers are not reliable.**\n"
    } else {
        ""
    };
    format!(
        "# Benchmarks\n\n\
         This page was written by `{command}`. Everything in the table was measured in one run:\n\n\
         {machine}\n{quick}\n\
         {met} of {targets} targets are met. Numbers are medians of {rounds} rounds of {seconds} s, after a \
         warm-up. A ratio is the median of the ratios of the rounds. Both sides of a ratio are measured in \
         turns within a round.\n\n\
         {table}\n{NOTES}"
    )
}

const NOTES: &str = "\
## How to read the table

*(yes)* and *(no)* mark measurements without a target of their own. They are compared with the same target
for orientation.

### Setup

- The service, the load generator, the bare route and PostgreSQL share the same cores. This reduces the
  difference between a fast and a slow server for both sides. Before the service starts, PostgreSQL runs
  `analyze` on the filled tables, as it does automatically within a minute.
- Reads use 32 connections and an account with 100,000 teams. Every request checks a key and counts against
  the quota. The baseline is an axum route that returns the same bytes.
- The service caches responses while an account does not change. The first page and the 200 pages come from
  the cache. Lines *with concurrent writes* mostly do not.
- Writes respond after a durable commit (SQLite with `synchronous=full`; PostgreSQL with `fsync` and
  `synchronous_commit` on, and otherwise default settings). The baseline is a loop in one process that runs
  the same statements on the data layer, without HTTP, keys, quotas and idempotency keys.
- The gain of 256 clients over one depends on the latency of the disk: the slower the disk, the larger the
  gain. The line of the loop without HTTP shows what this machine allows.
- For the last page, a change before each pair empties the cache. On PostgreSQL the teams were copied with
  SQL, because creating a million one by one takes too long.

### Schedule

- The account has 500,000 events of 1,000 teams and 10,000 people, created with the data layer (on
  PostgreSQL, most teams are copies).
- The baseline is an axum route that returns the same bytes. The ratio also compares with `GET
  /teams?limit=50`, the first page, measured in turns. Both run with concurrent writes where the line says
  so.
- *Not cached* uses 5,000 different requests. Their responses are many times larger than the cache, so each
  page is read and serialized.
- A page of 50 events that is not cached does not reach half of the bare route, and is not meant to. It has
  61 kB, which the bare route only sends. On SQLite, three fifths of the time are spent serializing and
  sending JSON (1.2 kB per event with its location; timestamps alone are an eighth of the total) and two
  fifths reading the 51 rows with 38 columns. No function takes more than a twelfth. This comes from a
  profile of one client on a tenth of the data, with lists that read only the team's own events.
- A calendar of 1,000 events has 457 kB. *Not cached* uses 200 calendars of the team in turn, more than the
  cache holds. In the same kind of profile, nine tenths of that time are spent reading rows and writing
  lines. The baseline of *304* is a bare route that returns nothing.
- RSVPs: 256 members answer one event with 100 places at the same moment, for several events. Then 50 of
  those who attend decline at the same moment. The baseline is `POST /teams` with 256 clients. The run fails
  unless exactly 100 attend and the others wait, and unless exactly the first 50 on the waiting list move
  up, in order.
- Exports run in a separate process whose cache and database pages are full before the export starts. The
  growth is bounded, but larger than a few MB. On SQLite `events.csv` used the same memory with 51,000 rows
  as with 501,000, and six exports in a row no more than the first. `rsvps.csv` used less with 10,000 rows
  than with 100,000. A part is memory that the allocator has not returned yet: if it returns memory at once,
  the peak is a third lower. The source of the rest is not known.

### Webhook deliveries

- Deliveries: clients create teams, and each notification goes to every webhook. The time runs from the
  first request to the last arrival at the receiver, so it includes writing. The baseline is a loop that
  posts signed bodies of the same size to the same receiver with the service's own HTTP client and
  concurrency (8 per webhook, at most 128), and records nothing. It is a separate process, like the service.
  With one or ten webhooks most of the time goes into creating the teams. The second line therefore compares
  with creating the teams without webhooks plus posting, measured separately.
- Latency: teams are created one after the other. The time runs from sending the request until the receiver
  has the notification, so it includes the request and its commit.
- Backlog: the log has notifications that were not sent to the account's webhook yet. They are delivered
  after the service starts.

### Tokens and pages

- Tokens use 32 connections and a club with 1,000 teams. The baseline is the same list with an API key,
  measured in turns through the same extractor: the owner's token compared with a key for everything, the
  coach's with a key for the coach's teams. The run fails unless both get the same teams.
- Refresh tokens: every client has its own user and grant and sends the token it got last. Each response
  comes after a durable commit that ends one token and starts two. The baseline is the loop that creates
  teams without HTTP, with the same number of tasks. The limit on token requests is raised for the run.
- `/admin` uses 32 connections with the cookie of an owner of the demo club. The baseline is an axum route
  that returns the same bytes. The first load is the page and every file it links to, in bytes of the bodies
  as sent. The files are compressed, the page is not.

### Pages of the team app

- The account has six teams with 16 people each, two practices and a game per week. The parent has three
  children, each on two teams. Nobody has answered, except for the next event.
- Home and the page of the next event use 32 connections with the cookie of the parent. The baseline is an
  axum route that returns the same bytes. The ratio also says how much longer a page takes than `GET
  /events?limit=50` with an API key, measured in turns. These lists use 5,000 different requests, so they do
  not come from the cache.
";
