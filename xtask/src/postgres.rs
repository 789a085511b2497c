//! A temporary PostgreSQL server for one run.
//!
//! It listens only on localhost, on a free port, accepts connections without a password, and does not
//! touch clusters that exist on this machine.

use crate::guard::Guard;
use crate::job::Job;
use crate::scratch;
use std::ffi::{OsStr, OsString};
use std::fs::{OpenOptions, read_to_string};
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// PostgreSQL does not run as root. Debian's package creates this user.
const OWNER: &str = "postgres";

const SETTINGS: &str = "\
listen_addresses = '127.0.0.1'
ssl = on
max_connections = 400
log_min_messages = warning
";

/// The file with the certificate of the certificate authority.
const CA_FILE: &str = "authority.pem";

/// The OpenSSL commands that create the certificates, in order. Debian's PostgreSQL depends on OpenSSL.
const OPENSSL_COMMANDS: [&str; 3] = [
    "req -x509 -newkey rsa:2048 -nodes -days 9 -subj /CN=authority -keyout authority.key -out authority.pem",
    "req -newkey rsa:2048 -nodes -subj /CN=server -keyout server.key -out server.csr",
    "x509 -req -in server.csr -CA authority.pem -CAkey authority.key -CAcreateserial -days 9 -extfile extension -out server.pem",
];

/// Faster, but not durable: the data of a test run need not survive a crash.
const NOT_DURABLE: &str = "\
fsync = off
synchronous_commit = off
full_page_writes = off
";

pub(crate) struct Postgres {
    port: u16,
    folder: PathBuf,
    _guard: Guard,
}

impl Postgres {
    /// Starts a new, empty server with the programs in `programs`.
    pub(crate) fn start(programs: &Path) -> Result<Self, String> {
        Self::start_in(programs, scratch::folder("postgres")?, NOT_DURABLE)
    }

    /// The path of the certificate authority's certificate, for TLS connections.
    pub(crate) fn ca_certificate(&self) -> PathBuf {
        self.folder.join(CA_FILE)
    }

    /// Starts a new, empty server with its data in `base` and durable commits.
    pub(crate) fn start_durable(programs: &Path, base: &Path) -> Result<Self, String> {
        let folder = scratch::folder_in(base, "postgres")
            .map_err(|e| format!("cannot create a folder in {}: {e}", base.display()))?;
        Self::start_in(programs, folder, "")
    }

    fn start_in(
        programs: &Path,
        folder: PathBuf,
        durability: &'static str,
    ) -> Result<Self, String> {
        let cluster = Cluster { programs, data: folder.join("data"), folder, durability };
        let guard = cluster.guard()?;
        cluster.init()?;
        cluster.create_certificates()?;
        let port = cluster.start()?;
        Ok(Self { port, folder: cluster.folder, _guard: guard })
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://touchline@127.0.0.1:{}/postgres", self.port)
    }
}

struct Cluster<'a> {
    programs: &'a Path,
    folder: PathBuf,
    data: PathBuf,
    durability: &'static str,
}

impl Cluster<'_> {
    fn guard(&self) -> Result<Guard, String> {
        let stop = self.command_line("pg_ctl", &["stop", "--mode=immediate", "--pgdata"]);
        let mut args = vec![self.folder.as_os_str()];
        args.extend(stop.iter().map(OsString::as_os_str));
        args.push(self.data.as_os_str());
        Guard::new("folder=$1; shift; \"$@\"; rm -rf -- \"$folder\"", &args)
    }

    fn init(&self) -> Result<(), String> {
        if is_root() {
            Job::new("chown", [OsStr::new(OWNER), self.folder.as_os_str()]).run_checked()?;
        }
        let mut initdb = self.command_line(
            "initdb",
            &["--username=touchline", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"],
        );
        initdb.extend(["--pgdata".into(), self.data.clone().into()]);
        self.run(&initdb)
    }

    /// Creates a certificate authority and a server certificate, both valid for nine days.
    fn create_certificates(&self) -> Result<(), String> {
        let extension = self.folder.join("extension");
        std::fs::write(&extension, "subjectAltName = IP:127.0.0.1")
            .map_err(|e| format!("cannot write {}: {e}", extension.display()))?;
        for line in OPENSSL_COMMANDS {
            let mut command = Self::run_as_owner();
            command.push("openssl".into());
            command.extend(line.split(' ').map(OsString::from));
            self.run(&command)?;
        }
        Ok(())
    }

    /// Starts the server. Another process may take the free port first, so it tries three times.
    fn start(&self) -> Result<u16, String> {
        let log = self.folder.join("log");
        let mut start =
            self.command_line("pg_ctl", &["start", "--wait", "--timeout=60", "--pgdata"]);
        start.extend([self.data.clone().into(), "--log".into(), log.clone().into()]);
        let mut last_error = String::new();
        for _ in 0..3 {
            let port = free_port()?;
            self.configure(port)?;
            match self.run(&start) {
                Ok(()) => return Ok(port),
                Err(error) => last_error = error,
            }
        }
        Err(format!("{last_error}\n{}", read_to_string(log).unwrap_or_default()))
    }

    fn configure(&self, port: u16) -> Result<(), String> {
        let failed = |e: std::io::Error| format!("cannot configure PostgreSQL: {e}");
        let file = self.data.join("postgresql.conf");
        let mut file = OpenOptions::new().append(true).open(file).map_err(failed)?;
        let (folder, durability) = (self.folder.display(), self.durability);
        // The last value of a setting wins, so another try just appends.
        write!(
            file,
            "\n{SETTINGS}{durability}unix_socket_directories = '{folder}'\nport = {port}\n\
             ssl_cert_file = '{folder}/server.pem'\nssl_key_file = '{folder}/server.key'\n"
        )
        .map_err(failed)
    }

    fn run(&self, command: &[OsString]) -> Result<(), String> {
        let (program, args) = command.split_first().ok_or("the command is empty")?;
        // The server's user may not be allowed to enter our current folder.
        Job::new(program, args).current_dir(&self.folder).run_checked().map(drop)
    }

    /// The command prefix to run a program as the server's user.
    fn run_as_owner() -> Vec<OsString> {
        let prefix = if is_root() { &["runuser", "-u", OWNER, "--"][..] } else { &[] };
        prefix.iter().map(OsString::from).collect()
    }

    fn command_line(&self, program: &str, args: &[&str]) -> Vec<OsString> {
        let mut command = Self::run_as_owner();
        command.push(self.programs.join(program).into());
        command.extend(args.iter().map(OsString::from));
        command
    }
}

/// Whether this process runs as root: its entry in `/proc` belongs to its user.
pub(crate) fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

fn free_port() -> Result<u16, String> {
    TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|e| format!("no free port: {e}"))
}
