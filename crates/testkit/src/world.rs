//! The environment of a test: two clubs, API clients, a running service, and a manual clock.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use kit::clock::ManualClock;
use kit::{Clock, IdGenerator, Rng, Timestamp, Zone};
use store::{Db, Scope};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use touchline::accounts::account::{self, NewAccount};
use touchline::accounts::api_key::{self, Key, NewKey};
use touchline::config::Config;
use touchline::dispatch::Dispatcher;
use touchline::ids::AccountId;
use touchline::rights::Scopes;
use touchline::tier::Tier;
use touchline::web::app::App;

use crate::{Client, Engine, TestDatabase};

/// A duration of whole seconds.
pub fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// Everything a test needs.
pub struct World {
    pub database: TestDatabase,
    pub clock: ManualClock,
    pub node: Node,
    /// The club Harbour.
    pub harbour: AccountId,
    /// Has a key of Harbour with every named scope.
    pub owner: Client,
    /// Has a key of Harbour with `teams:read`.
    pub reader: Client,
    /// Has a key of Harbour without a scope for teams.
    pub bystander: Client,
    /// Has a key of another club with every named scope.
    pub stranger: Client,
    /// Has no key.
    pub nobody: Client,
}

/// A running service on the world's database.
pub struct Node {
    pub app: App,
    pub address: SocketAddr,
    /// Delivers to webhooks only when a test calls it.
    pub dispatcher: Dispatcher,
    stop: watch::Sender<bool>,
    serving: JoinHandle<()>,
}

impl Node {
    /// Starts a service on a free port.
    pub async fn start(database: &TestDatabase, clock: Clock, config: Config) -> Self {
        let db = database.open(clock.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let data = database.folder.path().to_owned();
        let config = Config { listen: address, data, ..config };
        let app = App::new(config, db, clock, Arc::new(Rng::system())).await.unwrap();
        let (stop, stopped) = watch::channel(false);
        let router = touchline::service(app.clone());
        let serving = touchline::web::server::serve(listener, app.clone(), router, stopped);
        let dispatcher = Dispatcher::new(app.clone()).unwrap();
        Self { app, address, dispatcher, stop, serving: tokio::task::spawn(serving) }
    }

    /// Stops the service gracefully.
    pub async fn stop(self) {
        self.app.stop();
        let _ = self.stop.send(true);
        self.serving.await.unwrap();
        self.app.finish().await;
        let db = self.app.db.clone();
        tokio::task::spawn_blocking(move || db.close()).await.unwrap();
    }
}

impl World {
    async fn new(engine: Engine) -> Option<Self> {
        let database = TestDatabase::new(engine).await?;
        let start: Timestamp = "2026-09-05T10:00:00Z".parse().unwrap();
        let clock = ManualClock::at(start);
        let node = Node::start(&database, clock.clock(), test_config()).await;
        let (db, address) = (&node.app.db, node.address);
        let harbour = make_account(db, "Harbour", start).await;
        let other = make_account(db, "Hilltop", start).await;
        let client = async |account, scopes: &str| {
            let (_, value) = make_key(db, account, new_key(scopes)).await;
            Client::new(address, Some(&value))
        };
        let all = Scopes::all_named().to_string();
        Some(Self {
            owner: client(harbour, &all).await,
            reader: client(harbour, "teams:read").await,
            bystander: client(harbour, "webhooks:write").await,
            stranger: client(other, &all).await,
            nobody: Client::new(address, None),
            database,
            clock,
            node,
            harbour,
        })
    }

    /// Advances the clock.
    pub fn advance_clock(&self, time: Duration) {
        self.clock.advance(time);
    }

    /// Runs all webhook deliveries that are due now.
    pub async fn deliver(&self) {
        self.node.dispatcher.deliver().await.unwrap();
    }

    /// The service's own database.
    pub fn db(&self) -> &Db {
        &self.node.app.db
    }

    /// Starts another service on the same database, with changed settings.
    pub async fn node(&self, change: impl FnOnce(&mut Config)) -> Node {
        let mut config = test_config();
        change(&mut config);
        Node::start(&self.database, self.clock.clock(), config).await
    }

    /// Creates a key of Harbour, and a client that uses it.
    pub async fn client_with_key(&self, new: NewKey) -> (Key, Client) {
        let (key, value) = make_key(self.db(), self.harbour, new).await;
        (key, Client::new(self.node.address, Some(&value)))
    }

    /// The bodies of all notifications in Harbour's log, oldest first.
    pub async fn notifications(&self) -> Vec<serde_json::Value> {
        let scope = Scope::account(self.harbour, "test");
        let read = self.db().read(scope, |db| touchline::signals::notifications(db, 0, 100_000));
        let bodies = read.await.unwrap().into_iter().map(|notification| notification.body);
        bodies.map(|body| serde_json::from_str(&body).unwrap()).collect()
    }

    /// The number of rows in a table, over all accounts.
    pub async fn count(&self, table: &str) -> u64 {
        let name = table.to_owned();
        let count = self.db().read(Scope::system("count"), move |db| {
            let table = db.tables()?.into_iter().find(|table| table.name == name).unwrap();
            let mut rows = 0;
            db.rows(&table, |_| {
                rows += 1;
                Ok(())
            })?;
            Ok::<u64, store::Error>(rows)
        });
        count.await.unwrap()
    }
}

/// Settings for tests: the defaults, with a high sign-in rate limit and webhooks to localhost allowed.
pub fn test_config() -> Config {
    let mut config = Config::defaults();
    config.postgres_connections = 4.try_into().unwrap();
    config.sign_in_rate = 100_000.try_into().unwrap();
    config.webhook_allow_cidrs = vec!["127.0.0.0/8".parse().unwrap()];
    config
}

/// A key with these scopes and no other restrictions.
pub fn new_key(scopes: &str) -> NewKey {
    NewKey {
        name: "test".to_owned(),
        scopes: Scopes::parse(scopes).unwrap(),
        team_ids: None,
        cidrs: None,
        expires_at: None,
    }
}

/// Creates a club.
pub async fn make_account(db: &Db, name: &str, now: Timestamp) -> AccountId {
    let id: AccountId = IdGenerator::default().generate(now, &Rng::system());
    let (name, timezone) = (name.to_owned(), Zone::utc());
    let new = NewAccount { id, name, tier: Tier::League, timezone, sport: None, demo: false };
    let created = db.write(Scope::account(id, "test"), move |tx| account::create(tx, &new)).await;
    created.unwrap().id
}

/// Creates a key and returns its value.
pub async fn make_key(db: &Db, account: AccountId, new: NewKey) -> (Key, String) {
    let create = db.write(Scope::account(account, "test"), move |tx| api_key::create(tx, new));
    let (key, value) = create.await.unwrap();
    (key, value.reveal().to_owned())
}

/// Runs a test in a new world. Skips it if the database server is not available.
pub fn run(engine: Engine, test: impl AsyncFnOnce(&World)) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let Some(world) = World::new(engine).await else { return };
        test(&world).await;
        world.node.stop().await;
        world.database.remove().await;
    });
}
