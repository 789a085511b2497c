//! QR codes for pages.

use std::fmt::Write;

use qrcodegen::{QrCode, QrCodeEcc};

use crate::error::{Error, Result};

/// A QR code as an SVG path.
#[derive(Debug)]
pub struct QrCodeImage {
    /// Width and height, in modules.
    pub side: i32,
    pub path: String,
}

impl QrCodeImage {
    /// The QR code of a text, such as a URL.
    pub fn new(text: &str) -> Result<Self> {
        let code = QrCode::encode_text(text, QrCodeEcc::Medium)
            .map_err(|_| Error::internal("the text is too long for a QR code"))?;
        let mut path = String::new();
        for y in 0..code.size() {
            for x in (0..code.size()).filter(|x| code.get_module(*x, y)) {
                // Writing to a `String` cannot fail.
                let _ = write!(path, "M{x} {y}h1v1h-1z");
            }
        }
        Ok(Self { side: code.size(), path })
    }
}
