//! Finds request heads that two HTTP parsers may understand differently (request smuggling).
//!
//! The HTTP library accepts a bare line feed as a line ending, and a request with both `Content-Length` and
//! `Transfer-Encoding`. A proxy in front of the service may read such a request differently. The scanner sees
//! every incoming byte, finds each head, including those of pipelined requests, and checks it before the
//! request is handled.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Why a request head is ambiguous.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadFault {
    /// More than one header declares the length of the body.
    TwoLengths,
    /// A line ends with a line feed without a carriage return.
    BareLineFeed,
}

impl HeadFault {
    /// The error detail for the client.
    pub fn detail(self) -> &'static str {
        match self {
            Self::TwoLengths => {
                "Send Content-Length or Transfer-Encoding, not both, and only once."
            }
            Self::BareLineFeed => {
                "The request line and every header line must end with a carriage return and a line feed."
            }
        }
    }
}

/// The request heads of one connection.
#[derive(Debug, Clone, Default)]
pub struct RequestHeads(Arc<Mutex<Scanner>>);

impl RequestHeads {
    /// The result for the next request. Call this once for each request, in order.
    pub fn next_fault(&self) -> Option<HeadFault> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).results.pop_front().flatten()
    }

    /// Scans incoming bytes.
    pub(super) fn scan(&self, bytes: &[u8]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).scan(bytes);
    }
}

/// The maximum length of a head. The server rejects a longer one.
const MAX_HEAD_BYTES: usize = super::server::MAX_HEADER_BYTES;

#[derive(Debug, Default)]
struct Scanner {
    state: State,
    /// The part of the current head that has arrived.
    head: Vec<u8>,
    /// Whether a line of the current head ends with a bare line feed.
    has_bare_line_feed: bool,
    /// The results for heads whose requests are not handled yet.
    results: VecDeque<Option<HeadFault>>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Head,
    /// The number of bytes of the body that have not arrived yet.
    Body(u64),
    /// Nothing more is scanned, because no further request is read from the connection.
    Closing,
}

impl Scanner {
    fn scan(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match self.state {
                State::Closing => return,
                State::Body(left) => {
                    let skipped = usize::try_from(left).map_or(bytes.len(), |n| n.min(bytes.len()));
                    bytes = &bytes[skipped..];
                    self.set_body_left(left - skipped as u64);
                }
                State::Head => {
                    let end = bytes.iter().position(|byte| *byte == b'\n').map(|index| index + 1);
                    let (part, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
                    bytes = rest;
                    self.add(part, end.is_some());
                }
            }
        }
    }

    fn set_body_left(&mut self, left: u64) {
        self.state = if left == 0 { State::Head } else { State::Body(left) };
    }

    /// Adds a line of the head, or a part of one.
    fn add(&mut self, part: &[u8], ends_line: bool) {
        if self.head.len() + part.len() > MAX_HEAD_BYTES {
            self.state = State::Closing;
            return;
        }
        self.head.extend_from_slice(part);
        if !ends_line {
            return;
        }
        self.has_bare_line_feed |= !self.head.ends_with(b"\r\n");
        if matches!(self.head.as_slice(), b"\r\n" | b"\n") {
            // Empty lines before a request are skipped.
            self.head.clear();
        } else if self.head.ends_with(b"\n\r\n") || self.head.ends_with(b"\n\n") {
            self.finish();
        }
    }

    /// Checks a complete head and prepares for its body.
    fn finish(&mut self) {
        let lengths: Vec<_> = self.head.split(|byte| *byte == b'\n').filter_map(length).collect();
        self.results.push_back(match lengths.as_slice() {
            [_, _, ..] => Some(HeadFault::TwoLengths),
            _ if self.has_bare_line_feed => Some(HeadFault::BareLineFeed),
            _ => None,
        });
        match lengths.as_slice() {
            [] => self.set_body_left(0),
            [BodyLength::Known(length)] => self.set_body_left(*length),
            // A chunked or rejected request is the last one of its connection.
            _ => self.state = State::Closing,
        }
        self.head.clear();
        self.has_bare_line_feed = false;
    }
}

/// How a header declares the length of the body.
#[derive(Clone, Copy)]
enum BodyLength {
    Known(u64),
    /// The body is chunked, or the length is not a number.
    Unknown,
}

/// The length that a header line declares, if any.
fn length(line: &[u8]) -> Option<BodyLength> {
    let value_of = |name: &[u8]| {
        let (start, value) = line.split_at_checked(name.len())?;
        start.eq_ignore_ascii_case(name).then_some(value)?.strip_prefix(b":")
    };
    if value_of(b"transfer-encoding").is_some() {
        return Some(BodyLength::Unknown);
    }
    let value = std::str::from_utf8(value_of(b"content-length")?).unwrap_or_default();
    Some(value.trim().parse().map_or(BodyLength::Unknown, BodyLength::Known))
}

#[cfg(test)]
mod tests {
    use super::HeadFault::{BareLineFeed, TwoLengths};
    use super::*;

    /// The results for the bytes of a connection. Checks that they do not depend on how the bytes are split.
    fn scan_all(text: &str) -> Vec<Option<HeadFault>> {
        let in_pieces = |size: usize| {
            let mut scanner = Scanner::default();
            for piece in text.as_bytes().chunks(size) {
                scanner.scan(piece);
            }
            Vec::from(scanner.results)
        };
        let expected = in_pieces(text.len());
        for size in [1, 2, 3, 7] {
            assert_eq!(in_pieces(size), expected, "{text:?} in pieces of {size}");
        }
        expected
    }

    #[test]
    fn the_body_length_may_be_declared_only_once() {
        let chunked = "POST / HTTP/1.1\r\nTRANSFER-ENCODING: chunked\r\n";
        for twice in [
            &format!("{chunked}Content-length: 3\r\n\r\n"),
            &format!("\r\n\r\n{chunked}Content-length: 3\r\n\r\n"),
            &format!("{chunked}Content-length: 3\n\n"),
            "POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n",
        ] {
            assert_eq!(scan_all(twice), [Some(TwoLengths)], "{twice:?}");
        }
        for once in [
            &format!("{chunked}\r\ncontent-length: 3\r\n\r\n"),
            &format!("{chunked}Content-Length-Of-Hair: 3\r\n\r\n"),
            "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n\n\n\n",
        ] {
            assert_eq!(scan_all(once), [None], "{once:?}");
        }
    }

    #[test]
    fn every_line_must_end_with_crlf() {
        for bare in [
            "GET / HTTP/1.1\nHost: x\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\n\n",
            "\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET / HTTP/1.1\n\n",
        ] {
            assert_eq!(scan_all(bare), [Some(BareLineFeed)], "{bare:?}");
        }
    }

    #[test]
    fn pipelined_requests_are_checked_one_by_one() {
        let good = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\na\nb\n\n";
        let bare = "GET / HTTP/1.1\nHost: x\r\n\r\n";
        let text = format!("{good}{good}{bare}{good}");
        assert_eq!(scan_all(&text), [None, None, Some(BareLineFeed), None]);
        let twice = "GET / HTTP/1.1\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(scan_all(&format!("{good}{twice}{bare}")), [None, Some(TwoLengths)]);
    }

    #[test]
    fn an_endless_head_is_not_buffered() {
        let mut scanner = Scanner::default();
        for _ in 0..100 {
            scanner.scan(&[b'x'; 1000]);
        }
        assert!(scanner.head.len() <= MAX_HEAD_BYTES && scanner.results.is_empty());
    }
}
