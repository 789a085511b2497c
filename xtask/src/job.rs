//! Running another program: shown, heard, bounded in time, and ended with this one.

use crate::guard::Guard;
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

const TICK: Duration = Duration::from_millis(200);
const GRACE: Duration = Duration::from_secs(5);
/// How long the last words of a program that has ended may take to reach us on a busy machine.
const SILENCE: Duration = Duration::from_secs(2);

/// A program to be run to its end.
pub(crate) struct Job {
    command: Command,
    limit: Option<Duration>,
    quiet: bool,
}

/// How a job ended and what it said, both streams in the order they came.
pub(crate) struct Finished {
    pub(crate) ok: bool,
    pub(crate) lines: Vec<String>,
}

impl Job {
    pub(crate) fn new<A: AsRef<OsStr>>(
        program: impl AsRef<OsStr>,
        args: impl IntoIterator<Item = A>,
    ) -> Self {
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self { command, limit: None, quiet: false }
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Without the variables of our own surroundings that this is true of.
    pub(crate) fn without(mut self, is_gone: impl Fn(&str) -> bool) -> Self {
        forget(&mut self.command, is_gone);
        self
    }

    pub(crate) fn within(mut self, folder: impl AsRef<Path>) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Ends the program when it takes longer, which counts as a failure.
    pub(crate) fn at_most(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Shows neither the command nor what it says.
    pub(crate) fn quietly(mut self) -> Self {
        self.quiet = true;
        self
    }

    pub(crate) fn run(mut self) -> Result<Finished, String> {
        if !self.quiet {
            println!("$ {}", self.text());
        }
        let mut child = self
            .command
            .spawn()
            .map_err(|e| format!("cannot run {}: {e}", self.command.get_program().display()))?;
        let number = OsString::from(child.id().to_string());
        let guard = Guard::new("kill -TERM \"$1\"", &[&number])?;
        let heard = listen(&mut child);
        let finished = self.watch(&mut child, &heard);
        guard.dismiss();
        finished
    }

    /// Runs quietly; a failure is an error that carries what was said.
    pub(crate) fn must(self) -> Result<Vec<String>, String> {
        let text = self.text();
        let Finished { ok, lines } = self.quietly().run()?;
        if ok { Ok(lines) } else { Err(format!("{text} failed:\n{}", lines.join("\n"))) }
    }

    fn text(&self) -> String {
        let mut words = vec![self.command.get_program().to_string_lossy()];
        words.extend(self.command.get_args().map(OsStr::to_string_lossy));
        words.join(" ")
    }

    fn watch(&self, child: &mut Child, heard: &Receiver<String>) -> Result<Finished, String> {
        let started = Instant::now();
        let mut lines = Vec::new();
        let mut ended: Option<ExitStatus> = None;
        loop {
            match heard.recv_timeout(if ended.is_some() { SILENCE } else { TICK }) {
                Ok(line) => self.keep(line, &mut lines),
                Err(RecvTimeoutError::Disconnected) if ended.is_none() => std::thread::sleep(TICK),
                // Silent and ended: that a stray grandchild holds the pipe is no reason to wait.
                Err(_) if ended.is_some() => break,
                Err(_) => {}
            }
            if ended.is_none() {
                ended = child.try_wait().map_err(|e| format!("cannot wait for a program: {e}"))?;
            }
            if let (None, Some(limit)) = (ended, self.limit)
                && started.elapsed() > limit
            {
                stop(child);
                self.keep(format!("stopped after {} seconds", limit.as_secs()), &mut lines);
                return Ok(Finished { ok: false, lines });
            }
        }
        Ok(Finished { ok: ended.is_some_and(|status| status.success()), lines })
    }

    fn keep(&self, line: String, lines: &mut Vec<String>) {
        if !self.quiet {
            println!("{line}");
        }
        lines.push(line);
    }
}

/// Keeps the variables of our own surroundings that this is true of from a program.
pub(crate) fn forget(command: &mut Command, is_gone: impl Fn(&str) -> bool) {
    let ours = std::env::vars_os().map(|(name, _)| name);
    for name in ours.filter(|name| is_gone(&name.to_string_lossy())) {
        command.env_remove(name);
    }
}

/// Asks a program to end, and ends it when it does not listen.
pub(crate) fn stop(child: &mut Child) {
    let asked = Instant::now();
    let _ = Command::new("kill").arg(child.id().to_string()).status();
    while asked.elapsed() < GRACE {
        if matches!(child.try_wait(), Ok(Some(_))) {
            return;
        }
        std::thread::sleep(TICK / 4);
    }
    let _ = child.kill();
    let _ = child.wait();
}

fn listen(child: &mut Child) -> Receiver<String> {
    let (tell, heard) = channel();
    if let Some(stream) = child.stdout.take() {
        pass_on(stream, tell.clone());
    }
    if let Some(stream) = child.stderr.take() {
        pass_on(stream, tell);
    }
    heard
}

fn pass_on(stream: impl Read + Send + 'static, tell: Sender<String>) {
    std::thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        let mut line = Vec::new();
        // Bytes, not text: a test may print what is not UTF-8.
        while stream.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            line.clear();
            if tell.send(text).is_err() {
                return;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_tells_what_was_said_and_how_it_ended() {
        let finished = Job::new("sh", ["-c", "echo one; echo two >&2; exit 3"]).quietly().run();
        let mut finished = finished.unwrap();
        finished.lines.sort();
        assert_eq!(finished.lines, ["one", "two"]);
        assert!(!finished.ok);
    }

    #[test]
    fn a_job_ends_at_its_limit() {
        let job = Job::new("sleep", ["60"]).quietly().at_most(Duration::from_millis(300));
        let started = Instant::now();
        assert!(!job.run().unwrap().ok);
        assert!(started.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn a_stray_grandchild_does_not_hold_the_job() {
        let started = Instant::now();
        assert!(Job::new("sh", ["-c", "sleep 50 & exit 0"]).quietly().run().unwrap().ok);
        // Far from the end of the stray, however busy the machine is.
        assert!(started.elapsed() < Duration::from_secs(30));
    }
}
