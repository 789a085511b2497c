//! The real program as a process of its own, for stories about starting, stopping and crashing.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;

/// The program with what every call needs.
#[derive(Debug, Clone)]
pub struct Program {
    binary: String,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
}

impl Program {
    /// The program at `binary`, on this data folder.
    pub fn new(binary: &str, data: &Path) -> Self {
        let data = data.display().to_string();
        Self {
            binary: binary.to_owned(),
            arguments: vec!["--data".to_owned(), data],
            variables: Vec::new(),
        }
    }

    /// With one more flag for every call.
    #[must_use]
    pub fn flag(mut self, name: &str, value: &str) -> Self {
        self.arguments.extend([name.to_owned(), value.to_owned()]);
        self
    }

    /// With one more environment variable for every call.
    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(words).args(&self.arguments).envs(self.variables.iter().cloned());
        command
    }

    /// Runs a command to its end.
    pub fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("the program starts")
    }

    /// Runs a command to its end with this text on its standard input.
    pub fn run_with_input(&self, words: &[&str], input: &str) -> Output {
        let mut command = self.command(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        // A program that refuses before it reads closes its end.
        let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
        child.wait_with_output().expect("the program ends")
    }

    /// Runs a command that must succeed, and reads the one JSON object it prints.
    pub fn json(&self, words: &[&str]) -> Value {
        let words: Vec<_> = words.iter().copied().chain(["--json"]).collect();
        let output = self.run(&words);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{words:?}: {told}");
        serde_json::from_slice(&output.stdout).expect("exactly one JSON object")
    }

    /// Starts the service on a free port and waits until it listens.
    pub fn serve(&self, words: &[&str]) -> Service {
        let words: Vec<_> =
            ["serve", "--listen", "127.0.0.1:0"].into_iter().chain(words.iter().copied()).collect();
        let mut command = self.command(&words);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (tell, told) = mpsc::channel();
        let log = std::thread::spawn(move || {
            let mut log = String::new();
            for line in stderr.lines().map_while(Result::ok) {
                if let Some(address) = line.strip_prefix("listening on http://") {
                    let _ = tell.send(address.parse().unwrap());
                }
                log += &line;
                log.push('\n');
            }
            log
        });
        let Ok(address) = told.recv_timeout(Duration::from_secs(60)) else {
            let _ = child.kill();
            panic!("the service does not listen: {}", log.join().unwrap());
        };
        Service { address, child, log: Some(log) }
    }
}

/// A running service.
pub struct Service {
    pub address: SocketAddr,
    child: Child,
    log: Option<std::thread::JoinHandle<String>>,
}

impl Service {
    /// The process's id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends the process at once, as a power cut would.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Tells the process to stop and waits until it has; returns what it logged.
    pub fn stop(mut self) -> (std::process::ExitStatus, String) {
        let id = self.child.id().to_string();
        let told = Command::new("kill").args(["-TERM", &id]).status().unwrap();
        assert!(told.success());
        let ended = self.child.wait().unwrap();
        (ended, self.log.take().unwrap().join().unwrap())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.kill();
        if let Some(mut stdout) = self.child.stdout.take() {
            let _ = stdout.read_to_end(&mut Vec::new());
        }
    }
}
