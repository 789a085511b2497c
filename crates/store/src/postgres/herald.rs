//! The herald: nodes on one server hear each other's bell.
//!
//! What was on its way when the connection was lost is lost; whoever listens looks now and then by themselves.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::sleep;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{AsyncMessage, Config, NoTls, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::scope::Tools;
use crate::{Bell, Result};

/// After others were told, what comes next waits so long and is told together.
const PAUSE: Duration = Duration::from_millis(20);
/// A lost connection is made anew after so long.
const AGAIN: Duration = Duration::from_secs(1);
/// So many accounts fit into one message of the server, which holds 8,000 bytes.
const TOGETHER: usize = 200;

/// Tells other nodes which accounts have news here, and rings here for theirs, until the bell is taken down.
pub(super) fn run(
    config: &Config,
    tls: Option<MakeRustlsConnect>,
    down: oneshot::Receiver<()>,
    tools: &Arc<Tools>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return tracing::warn!(%error, "other nodes are not heard"),
    };
    let own = format!("{:016x}", u64::from_le_bytes(tools.dice.bytes()));
    runtime.block_on(async {
        let carry = async {
            loop {
                let carried = match tls.clone() {
                    Some(tls) => carry(config, tls, &tools.bell, &own).await,
                    None => carry(config, NoTls, &tools.bell, &own).await,
                };
                if let Err(error) = carried {
                    tracing::debug!(%error, "the connection on which other nodes are heard ended");
                }
                sleep(AGAIN).await;
            }
        };
        tokio::select! {
            // It never says anything: it is gone when the bell is taken down.
            _ = down => {}
            () = carry => {}
        }
    });
}

async fn carry<T: MakeTlsConnect<Socket>>(
    config: &Config,
    tls: T,
    bell: &Bell,
    own: &str,
) -> Result<()> {
    let (client, mut connection) = config.connect(tls).await?;
    let hear = async {
        while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(news) = message? {
                others(news.payload(), own).for_each(|account| bell.echo(account));
            }
        }
        Ok(())
    };
    let tell = async {
        client.batch_execute("listen touchline_bell").await?;
        loop {
            let all = bell.heard_here().await;
            let all: Vec<_> = all.iter().map(|account| format!(" {account:x}")).collect();
            for some in all.chunks(TOGETHER) {
                let text = format!("notify touchline_bell, '{own}{}'", some.concat());
                client.batch_execute(&text).await?;
            }
            sleep(PAUSE).await;
        }
    };
    tokio::select! {
        ended = hear => ended,
        ended = tell => ended,
    }
}

/// The accounts a message names, if another node sent it.
fn others<'a>(message: &'a str, own: &'a str) -> impl Iterator<Item = u128> + 'a {
    let (sender, accounts) = message.split_once(' ').unwrap_or((message, ""));
    let accounts = if sender == own { "" } else { accounts };
    accounts.split(' ').filter_map(|account| u128::from_str_radix(account, 16).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_others_say_is_heard() {
        let heard = |message| others(message, "me").collect::<Vec<_>>();
        assert_eq!(heard("you a ff"), [10, 255]);
        for nothing in ["me a ff", "you", "", "you x \u{1f3c9}"] {
            assert_eq!(heard(nothing), [], "{nothing}");
        }
    }
}
