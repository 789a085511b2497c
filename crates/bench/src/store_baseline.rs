//! The baseline for writes: the statements of the handler on the data layer, without HTTP.

use store::{Db, Scope};
use touchline::error::Error;
use touchline::teams::team;

use crate::Result;
use crate::club::{Club, new_team};
use crate::environment::Environment;
use crate::load::{self, Client, Counter, Timing};
use crate::stats::Measurement;

/// Actor and request id in the audit log, as long as those that the service writes.
const ACTOR: &str = "key_00000000000000000000000000";
const REQUEST: &str = "req_00000000000000000000000000";

/// A database without a service, with one club.
pub(crate) struct StoreBaseline {
    db: Db,
    scope: Scope,
    numbers: Counter,
}

impl StoreBaseline {
    pub(crate) async fn open(environment: &Environment) -> Result<Self> {
        let database = environment.database("baseline").await?;
        let club = Club::create(&database)?;
        database.analyze().await?;
        let scope = Scope::account(club.account, ACTOR).for_request(REQUEST);
        Ok(Self { db: database.open()?, scope, numbers: Counter::default() })
    }

    /// Measures this number of concurrent tasks.
    pub(crate) async fn measure(&self, tasks: usize, timing: Timing) -> Result<Measurement> {
        let writer = || Writer {
            db: self.db.clone(),
            scope: self.scope.clone(),
            numbers: self.numbers.clone(),
        };
        load::measure(std::iter::repeat_with(writer).take(tasks).collect(), timing).await
    }
}

impl Drop for StoreBaseline {
    fn drop(&mut self) {
        self.db.close();
    }
}

/// A task that creates teams.
struct Writer {
    db: Db,
    scope: Scope,
    numbers: Counter,
}

impl Client for Writer {
    async fn run_once(&mut self) -> Result<()> {
        let number = self.numbers.next();
        let write = self.db.write(self.scope.clone(), move |tx| {
            let team = team::create(tx, new_team(number))?;
            serde_json::to_string(&team).map_err(|error| Error::internal(error.to_string()))
        });
        write.await.map(drop).map_err(|error| format!("the loop without HTTP failed: {error:?}"))
    }
}
