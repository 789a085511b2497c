//! The page with the table: how it was measured, on what, and how to read it.

use crate::machine::Machine;
use crate::options::Measure;
use crate::table::Table;

pub(crate) fn page(measure: &Measure, machine: &Machine, table: &Table) -> String {
    let pace = measure.pace();
    let (met, asked) = table.score();
    let command = &measure.command;
    let (seconds, rounds) = (pace.counted.as_secs(), pace.rounds);
    let quick = if measure.is_quick() {
        "\n**A quick run: one short round on a tenth of the data. Its numbers say little.**\n"
    } else {
        ""
    };
    format!(
        "# Benchmarks\n\n\
         Written by `{command}`. Everything in the table was measured in one run on this machine:\n\n\
         {machine}\n{quick}\n\
         {met} of {asked} asks are met. Shown are medians of {rounds} rounds of {seconds} s, after a \
         warm-up; a ratio is the median of the rounds' ratios. Both sides of a ratio take turns within a \
         round.\n\n\
         {table}\n{NOTES}"
    )
}

const NOTES: &str = "\
How to read it:

- The service, the load generator, the bare route and PostgreSQL share the same cores. That narrows
  the distance between a fast and a slow server, for both sides alike. Before the service starts, PostgreSQL is
  told to `analyze` what it was filled with, as it does by itself within a minute.
- Reads: 32 connections; 100,000 teams in the account; a key is checked and the quota is counted with
  every request. *Against* is an axum route that returns the same bytes. The service remembers answers
  while an account does not change: the first page and the 200 pages come from that memory, the lines
  *while a client writes* mostly do not.
- Writes: every answer comes after a durable commit (SQLite `synchronous=full`; PostgreSQL with `fsync`
  and `synchronous_commit` on, otherwise as it comes). *Against* is a loop in one process that does the
  same statements on the data layer without HTTP, keys, quotas and idempotency keys.
- How much 256 clients gain over one depends on how long the disk takes to keep something: the slower
  it is, the more. The line of the loop without HTTP shows what this machine allows.
- The last page: a change before each pair makes the service forget its answers. On PostgreSQL the
  teams were copied with SQL, since creating a million one by one takes too long.
- The schedule: an account with 500,000 events of 1,000 teams and 10,000 people, filled with the data layer
  (on PostgreSQL, most teams are copies). *Against* is an axum route that returns the same bytes, and the
  ratio also tells the share of `GET /teams?limit=50`, the first page, measured in turn; both while a client
  writes where our line says so. *Nothing remembered*: 5,000 different questions, whose answers are many
  times what the service remembers, so each page is read and written anew. *The same again* comes from
  memory until somebody writes.
- A page of 50 events that is made anew does not reach half of the bare route, and is not meant to: it is
  61 kB, and the bare route only sends them. Of the time it takes on SQLite, three fifths are spent
  where the bytes are written as JSON and sent (1.2 kB an event with its location; the moments in it alone
  are an eighth of the whole) and two fifths where the 51 rows with their 38 columns are read. No function
  takes more than a twelfth. This was seen in a profile of one client on a tenth of the data, with lists that
  read the team's own events only.
- Calendars: 1,000 events are 457 kB. *Written anew*: 200 calendars of the team in turn, more than are
  remembered. In the same kind of profile, nine tenths of that time are reading rows and writing lines. *304* is held
  against a bare route that returns nothing.
- Answers: 256 members answer one event with 100 places at the same moment, again for each of several
  events; then 50 who come drop out at the same moment. *Against* is `POST /teams` with 256 clients. The run
  ends with an error unless exactly 100 come and the others wait, and unless exactly the first 50 of those
  who wait, in the order they came, are let in.
- Downloads: a process of its own, in which the memory of answers and the database's pages are full before
  the download begins. What it grows by is bounded, but is more than a few MB. On SQLite `events.csv` took the same
  with 51,000 rows as with 501,000, and six downloads in a row no more than the first; `rsvps.csv` took less
  with 10,000 than with 100,000. Part of it is memory that the allocator has not given back yet: told to do so
  at once, the peak is a third lower. Where the rest comes from is not known.
- Tokens: 32 connections, a club with 1,000 teams. *Against* is the same list with an API key, in turn and
  through the same door: the owner's token against a key that reaches everything, the coach's against a key
  for the coach's teams. The run ends with an error unless both are shown the same teams.
- Refresh tokens: every client has a user and a grant of its own and sends what it was given last, so each
  answer comes after a durable commit that ends one token and begins two. *Against* is the loop that creates
  teams without HTTP, with as many tasks. The limit on requests for tokens is raised for the run.
- `/admin`: 32 connections with the cookie of an owner of the demo club. *Against* is an axum route that
  returns the same bytes. The first load is the page and every file it names, in bytes of the bodies as they
  are sent; files are packed, the page itself is not.
- Deliveries: clients create so many teams, and each is told to every webhook; from the first request to the last
  arrival in the receiver, so writing is part of it. *Against* is a loop of the service's own HTTP client that posts signed bodies of the same size to the
  same receiver, as many at once as the service would (8 to a webhook, at most 128), and writes nothing down; it is a process of its own, as the service is.
  With one webhook or ten, each delivery or every tenth needs a new team first, so they are also set beside the time
  that it takes to make the teams where nothing is delivered, and to post, each by itself.
- From a request to its arrival: one team after the other is created; timed from sending the request until the
  receiver has the notification, so the request and its commit are part of it.
- The backlog: notifications in the log of an account whose webhook was told none of them, worked off after the
  service starts.
- *(yes)* and *(no)*: nobody asked for this one; it is held against the same mark for comparison.
";
