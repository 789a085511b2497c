//! Checks uploaded files. Their type is recognized by their content, and images are encoded again, which removes metadata
//! such as the place where a photo was taken, and anything that is not part of the image.

use std::io::Cursor;

use bytes::Bytes;
use image::codecs::jpeg::JpegEncoder;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, ImageResult, Limits};
use kit::string_enum;
use kit::string_enum::StringEnum;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use store::enum_column;

use crate::blocking_pool::BlockingPool;
use crate::error::{Code, Error, Fault, Result};

/// The maximum size of a file, in bytes.
pub const MAX_FILE_BYTES: usize = 10 * 1024 * 1024;
/// The maximum number of pixels of an image. A phone's photo has up to 24.5 million.
const MAX_PIXELS: u64 = 25_000_000;
/// Memory for one decoded image, in bytes.
const MAX_DECODED_BYTES: u64 = 128 * 1024 * 1024;
/// The longest side of a thumbnail, in pixels.
const THUMBNAIL_SIDE: u32 = 256;
const JPEG_QUALITY: u8 = 85;
/// The number of images that are processed at a time, and of files that are processed or waiting.
const CONCURRENT: usize = 2;
const MAX_WAITING: usize = 16;
/// The JSON pointer and the name of the form field of a file.
const POINTER: &str = "/file";

string_enum! {
    /// The type of a stored file.
    pub enum ContentType as FileContentType {
        Jpeg = "image/jpeg",
        Png = "image/png",
        Pdf = "application/pdf",
    }
}
enum_column!(ContentType);

impl<'de> Deserialize<'de> for ContentType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        Self::parse(&word).ok_or_else(|| D::Error::custom("not the type of a stored file"))
    }
}

impl ContentType {
    /// Whether it is an image, which is stored with a thumbnail.
    pub fn is_image(self) -> bool {
        self != Self::Pdf
    }

    /// The extension of a file name, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Jpeg => "jpg",
            Self::Png => "png",
            Self::Pdf => "pdf",
        }
    }
}

/// What an uploaded file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requirements {
    /// An image or a PDF.
    Document,
    /// An image that is shown small.
    Picture,
}

impl Requirements {
    /// The longest side of a stored image, in pixels. Larger images are scaled down.
    fn max_side(self) -> u32 {
        match self {
            Self::Document => 2560,
            Self::Picture => 1024,
        }
    }
}

/// A file that was checked, as it is stored.
#[derive(Debug)]
pub struct CheckedFile {
    pub content_type: ContentType,
    pub bytes: Bytes,
    /// Width and height of an image, in pixels.
    pub dimensions: Option<(u32, u32)>,
    /// A small version of an image, with the same content type.
    pub thumbnail: Option<Bytes>,
}

/// Checks uploaded files, a few at a time.
#[derive(Debug)]
pub struct UploadChecker(BlockingPool);

impl Default for UploadChecker {
    fn default() -> Self {
        let detail = "Many files are being uploaded right now. Try again in a few seconds.";
        Self(BlockingPool::new(CONCURRENT, MAX_WAITING, detail))
    }
}

impl UploadChecker {
    /// Checks a file and encodes it again if it is an image.
    pub async fn check(&self, bytes: Bytes, requirements: Requirements) -> Result<CheckedFile> {
        let detail = "The file is too large. Send at most 10 MB.";
        let too_large = Error::new(Code::PayloadTooLarge, detail).at(POINTER);
        too_large.fail_if(bytes.len() > MAX_FILE_BYTES)?;
        let checked = self.0.run(move || check(bytes, requirements)).await?;
        checked.map_err(|fault| Error::invalid(vec![fault]))
    }
}

fn check(bytes: Bytes, requirements: Requirements) -> Result<CheckedFile, Fault> {
    if bytes.is_empty() {
        return Err(Fault::new(POINTER, "empty_file", "The file is empty. Choose another one."));
    }
    match (recognize(&bytes), requirements) {
        (Some(FileKind::Image(format)), _) => {
            // A decoder that panics has found a damaged image.
            let encoded = std::panic::catch_unwind(|| reencode(&bytes, format, requirements));
            encoded.unwrap_or_else(|_| Err(damaged()))
        }
        (Some(FileKind::Pdf), Requirements::Document) => {
            let (content_type, dimensions) = (ContentType::Pdf, None);
            Ok(CheckedFile { content_type, bytes, dimensions, thumbnail: None })
        }
        (_, Requirements::Document) => {
            let detail = "The file is not a JPEG, PNG, WebP or GIF image and not a PDF.";
            Err(Fault::new(POINTER, "unsupported_file_type", detail))
        }
        (_, Requirements::Picture) => {
            let detail = "The file is not a JPEG, PNG, WebP or GIF image.";
            Err(Fault::new(POINTER, "unsupported_file_type", detail))
        }
    }
}

enum FileKind {
    Image(ImageFormat),
    Pdf,
}

/// Recognizes a file by its first bytes. Its name and the type that the sender claims do not matter.
fn recognize(bytes: &[u8]) -> Option<FileKind> {
    Some(match bytes {
        [0xff, 0xd8, 0xff, ..] => FileKind::Image(ImageFormat::Jpeg),
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => {
            FileKind::Image(ImageFormat::Png)
        }
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => FileKind::Image(ImageFormat::Gif),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => {
            FileKind::Image(ImageFormat::WebP)
        }
        [b'%', b'P', b'D', b'F', b'-', ..] => FileKind::Pdf,
        _ => return None,
    })
}

/// Decodes an image, turns it upright, scales it down and encodes it again. Of an animation, the first frame is kept.
fn reencode(
    bytes: &[u8],
    format: ImageFormat,
    requirements: Requirements,
) -> Result<CheckedFile, Fault> {
    let decoder = ImageReader::with_format(Cursor::new(bytes), format).into_decoder();
    let mut decoder = decoder.map_err(|_| damaged())?;
    let (width, height) = decoder.dimensions();
    check_size(width, height, decoder.total_bytes())?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_DECODED_BYTES);
    decoder.set_limits(limits).map_err(|_| damaged())?;
    let orientation = decoder.orientation();
    let mut image = DynamicImage::from_decoder(decoder).map_err(|_| damaged())?;
    let side = requirements.max_side();
    if width.max(height) > side {
        // Needs no memory besides the result, unlike `resize`.
        image = image.thumbnail(side, side);
    }
    if let Ok(orientation) = orientation {
        image.apply_orientation(orientation);
    }
    let has_alpha = image.color().has_alpha();
    let content_type = match format {
        ImageFormat::Jpeg => ContentType::Jpeg,
        ImageFormat::WebP if !has_alpha => ContentType::Jpeg,
        _ => ContentType::Png,
    };
    let image = if has_alpha && content_type == ContentType::Png {
        DynamicImage::ImageRgba8(image.into_rgba8())
    } else {
        DynamicImage::ImageRgb8(image.into_rgb8())
    };
    let encoded = |image: &DynamicImage| encode(image, content_type).map_err(|_| damaged());
    let thumbnail = Some(encoded(&shrink(&image, THUMBNAIL_SIDE))?);
    let dimensions = Some((image.width(), image.height()));
    Ok(CheckedFile { content_type, bytes: encoded(&image)?, dimensions, thumbnail })
}

fn shrink(image: &DynamicImage, side: u32) -> DynamicImage {
    let is_small = image.width().max(image.height()) <= side;
    if is_small { image.clone() } else { image.thumbnail(side, side) }
}

fn encode(image: &DynamicImage, content_type: ContentType) -> ImageResult<Bytes> {
    let mut bytes = Vec::new();
    match content_type {
        ContentType::Jpeg => {
            image.write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, JPEG_QUALITY))?;
        }
        _ => image.write_to(&mut Cursor::new(&mut bytes), ImageFormat::Png)?,
    }
    Ok(bytes.into())
}

/// Rejects an image that takes too much memory, before it is decoded.
fn check_size(width: u32, height: u32, bytes: u64) -> Result<(), Fault> {
    let pixels = u64::from(width) * u64::from(height);
    if pixels <= MAX_PIXELS && bytes <= MAX_DECODED_BYTES {
        return Ok(());
    }
    let detail = if pixels > MAX_PIXELS {
        message!(
            "The image is too large: {width} × {height} pixels. Choose one with at most 25 megapixels.",
            width,
            height
        )
    } else {
        message!(
            "The image is too large: it has 16 bits per color. Save it with 8 bits, or with fewer pixels."
        )
    };
    Err(Fault::new(POINTER, "too_many_pixels", detail))
}

fn damaged() -> Fault {
    let detail = "The image is damaged or incomplete. Choose another one.";
    Fault::new(POINTER, "damaged_image", detail)
}

#[cfg(test)]
mod tests {
    use image::{Rgb, RgbImage, Rgba, RgbaImage};

    use super::*;

    fn image_bytes(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
        let mut bytes = Vec::new();
        image.write_to(&mut Cursor::new(&mut bytes), format).unwrap();
        bytes
    }

    fn checked(bytes: Vec<u8>, requirements: Requirements) -> Result<CheckedFile, &'static str> {
        check(bytes.into(), requirements).map_err(|fault| match fault.code {
            std::borrow::Cow::Borrowed(code) => code,
            std::borrow::Cow::Owned(_) => "",
        })
    }

    fn contains(bytes: &[u8], part: &[u8]) -> bool {
        bytes.windows(part.len()).any(|window| window == part)
    }

    #[test]
    fn images_are_encoded_again_without_anything_else() {
        let photo = DynamicImage::ImageRgb8(RgbImage::from_pixel(300, 200, Rgb([200, 20, 20])));
        let clear = DynamicImage::ImageRgba8(RgbaImage::from_pixel(40, 30, Rgba([9, 9, 9, 0])));
        for (image, format, expected) in [
            (&photo, ImageFormat::Jpeg, ContentType::Jpeg),
            (&photo, ImageFormat::Png, ContentType::Png),
            (&photo, ImageFormat::WebP, ContentType::Jpeg),
            (&clear, ImageFormat::WebP, ContentType::Png),
            (&clear, ImageFormat::Gif, ContentType::Png),
        ] {
            let mut bytes = image_bytes(image, format);
            bytes.extend(b"<script>alert(1)</script>");
            let file = checked(bytes, Requirements::Picture).unwrap();
            assert_eq!(file.content_type, expected);
            assert_eq!(file.dimensions, Some((image.width(), image.height())));
            assert!(!contains(&file.bytes, b"script"));
            let thumbnail = image::load_from_memory(&file.thumbnail.unwrap()).unwrap();
            assert!(thumbnail.width() <= THUMBNAIL_SIDE && thumbnail.height() <= THUMBNAIL_SIDE);
        }
    }

    #[test]
    fn a_photo_is_turned_upright_and_loses_its_metadata() {
        let photo = DynamicImage::ImageRgb8(RgbImage::from_pixel(60, 40, Rgb([1, 2, 3])));
        let jpeg = image_bytes(&photo, ImageFormat::Jpeg);
        // Exif data with the orientation 6 (turned by 90 degrees), and a comment after it.
        let exif = b"Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0GPS 38.7,-9.1";
        let length = u16::try_from(exif.len() + 2).unwrap().to_be_bytes();
        let mut turned = jpeg[..2].to_vec();
        turned.extend([0xff, 0xe1, length[0], length[1]]);
        turned.extend(exif);
        turned.extend(&jpeg[2..]);
        let file = checked(turned, Requirements::Document).unwrap();
        assert_eq!(file.dimensions, Some((40, 60)));
        assert!(!contains(&file.bytes, b"Exif") && !contains(&file.bytes, b"GPS"));
    }

    #[test]
    fn large_images_are_scaled_down_or_rejected() {
        let wide = DynamicImage::new_luma8(5000, 100);
        let file = checked(image_bytes(&wide, ImageFormat::Png), Requirements::Document).unwrap();
        assert_eq!(file.dimensions, Some((2560, 51)));
        let huge = image_bytes(&DynamicImage::new_luma8(8000, 5000), ImageFormat::Png);
        assert_eq!(checked(huge, Requirements::Document).unwrap_err(), "too_many_pixels");
        // The header of a GIF that claims 65,535 × 65,535 pixels.
        let mut bomb = image_bytes(&DynamicImage::new_rgb8(2, 2), ImageFormat::Gif);
        bomb[6..10].copy_from_slice(&[0xff; 4]);
        assert_eq!(checked(bomb, Requirements::Document).unwrap_err(), "too_many_pixels");
    }

    #[test]
    fn other_files_are_rejected_whatever_they_are_called() {
        let png = image_bytes(&DynamicImage::new_rgb8(20, 20), ImageFormat::Png);
        let svg = b"<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>".to_vec();
        for (bytes, code) in [
            (Vec::new(), "empty_file"),
            (svg, "unsupported_file_type"),
            (b"<!doctype html><script>alert(1)</script>".to_vec(), "unsupported_file_type"),
            (b" %PDF-1.7".to_vec(), "unsupported_file_type"),
            // What follows the signature is the size.
            (b"GIF89a=1;alert(1)//".to_vec(), "too_many_pixels"),
            (png[..png.len() / 2].to_vec(), "damaged_image"),
            (vec![0xff, 0xd8, 0xff, 0xe0], "damaged_image"),
        ] {
            assert_eq!(checked(bytes, Requirements::Document).unwrap_err(), code);
        }
        let pdf = b"%PDF-1.7 <script>".to_vec();
        assert!(checked(pdf.clone(), Requirements::Document).is_ok());
        assert_eq!(checked(pdf, Requirements::Picture).unwrap_err(), "unsupported_file_type");
    }
}
