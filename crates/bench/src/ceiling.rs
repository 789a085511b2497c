//! What writes are compared with: the statements of the handler on the data layer, without HTTP.

use store::{Db, Scope};
use touchline::error::Error;
use touchline::teams::team;

use crate::Result;
use crate::club::{Club, new_team};
use crate::figures::Measured;
use crate::load::{self, Client, Numbers, Pace};
use crate::site::Site;

/// The audit log keeps who and why; these are as long as what the service writes there.
const ACTOR: &str = "key_00000000000000000000000000";
const REQUEST: &str = "req_00000000000000000000000000";

/// A database without a service, and the one club in it.
pub(crate) struct Ceiling {
    db: Db,
    scope: Scope,
    numbers: Numbers,
}

impl Ceiling {
    pub(crate) async fn open(site: &Site) -> Result<Self> {
        let database = site.database("ceiling").await?;
        let club = Club::found(&database)?;
        database.settle().await?;
        let scope = Scope::account(club.account, ACTOR).for_request(REQUEST);
        Ok(Self { db: database.open()?, scope, numbers: Numbers::default() })
    }

    /// Measures this many tasks.
    pub(crate) async fn measure(&self, many: usize, pace: Pace) -> Result<Measured> {
        let writer = || Writer {
            db: self.db.clone(),
            scope: self.scope.clone(),
            numbers: self.numbers.clone(),
        };
        load::measure(std::iter::repeat_with(writer).take(many).collect(), pace).await
    }
}

impl Drop for Ceiling {
    fn drop(&mut self) {
        self.db.close();
    }
}

/// A task that creates teams.
struct Writer {
    db: Db,
    scope: Scope,
    numbers: Numbers,
}

impl Client for Writer {
    async fn once(&mut self) -> Result<()> {
        let number = self.numbers.next();
        let written = self.db.write(self.scope.clone(), move |tx| {
            let team = team::create(tx, new_team(number))?;
            serde_json::to_string(&team).map_err(|error| Error::internal(error.to_string()))
        });
        written.await.map(drop).map_err(|error| format!("the loop on the store: {error:?}"))
    }
}
