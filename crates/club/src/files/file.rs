//! The file record: what is known about a file, and who may see it.

use kit::string_enum;

use crate::hook::Hook;
use crate::prelude::*;
use crate::uploads::{CheckedFile, ContentType, Requirements};

/// How many files one caller may have uploaded without attaching them.
const MAX_UNATTACHED: i64 = 100;
/// The maximum length of a name, in characters.
const MAX_NAME_CHARS: usize = 120;

type CanSee<I> = fn(&Reader<'_>, &TeamAccess, I) -> Result<bool>;

/// Whether a caller may see the photo of a person.
pub static CAN_SEE_PHOTO: Hook<CanSee<PersonId>> = Hook::new("file::CAN_SEE_PHOTO");
/// Whether a caller may see the attachments of a message.
pub static CAN_SEE_ATTACHMENTS: Hook<CanSee<MessageId>> = Hook::new("file::CAN_SEE_ATTACHMENTS");

string_enum! {
    /// What a file is for.
    pub enum Purpose as FilePurpose {
        /// An image or a PDF that is attached to a message.
        Attachment = "attachment",
        /// The logo of a team.
        Logo = "logo",
        /// The photo of a person.
        Photo = "photo",
    }
}
enum_column!(Purpose);

impl Purpose {
    /// What the file must be.
    pub fn requirements(self) -> Requirements {
        match self {
            Self::Attachment => Requirements::Document,
            Self::Logo | Self::Photo => Requirements::Picture,
        }
    }

    /// The scope that is needed to read such files.
    pub fn read_scope(self) -> ScopeName {
        match self {
            Self::Attachment => ScopeName::MessagesRead,
            Self::Logo => ScopeName::TeamsRead,
            Self::Photo => ScopeName::RosterRead,
        }
    }

    /// The scope that is needed to upload such files.
    pub fn write_scope(self) -> ScopeName {
        match self {
            Self::Attachment => ScopeName::MessagesWrite,
            Self::Logo => ScopeName::TeamsWrite,
            Self::Photo => ScopeName::RosterWrite,
        }
    }
}

record! {
    /// An uploaded file.
    #[macros::object("file")]
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    #[schema(as = UploadedFile)]
    pub struct File in file {
        pub id: FileId,
        #[serde(skip)]
        pub account_id: AccountId,
        /// What the file is for: `attachment`, `logo` or `photo`.
        pub purpose: Purpose,
        /// Name of the file. Its extension is that of the stored type.
        #[schema(examples("schedule.pdf"), max_length = 120)]
        pub name: String,
        /// Type of the stored file. Images are stored as JPEG or PNG.
        pub content_type: ContentType,
        /// Size of the stored file, in bytes.
        #[schema(examples(48213))]
        pub size: i64,
        /// Width of an image, in pixels; `null` for a PDF.
        #[schema(examples(1024))]
        pub width: Option<i64>,
        /// Height of an image, in pixels; `null` for a PDF.
        #[schema(examples(768))]
        pub height: Option<i64>,
        #[serde(skip)]
        pub sha256: String,
        #[serde(skip)]
        pub uploaded_by: String,
        /// ID of the message, team or person that the file is attached to; `null` if it is not attached yet.
        #[schema(examples("team_01kbm2x5q8f7vr0n3hd9tzc4wy"))]
        pub attached_to: Option<String>,
        #[serde(skip)]
        pub removed_at: Option<Timestamp>,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        /// Increases with every change.
        pub version: i64,
    }
}

impl_resource!(File by FileId: Subject Versioned);

/// A file whose bytes are stored, and which gets its row now.
#[derive(Debug, Clone)]
pub struct StoredFile {
    pub id: FileId,
    pub purpose: Purpose,
    pub name: String,
    pub content_type: ContentType,
    pub size: i64,
    pub dimensions: Option<(u32, u32)>,
    pub sha256: String,
}

/// The key of a file's bytes, or of its thumbnail.
pub fn store_key(account: AccountId, id: FileId, thumbnail: bool) -> String {
    let suffix = if thumbnail { "-small" } else { "" };
    format!("{account}/{id}{suffix}")
}

/// The account and the file of a key; `None` if it is not a key of this service.
pub fn parse_store_key(key: &str) -> Option<(AccountId, FileId)> {
    let (account, file) = key.split_once('/')?;
    let file = file.strip_suffix("-small").unwrap_or(file);
    Some((account.parse().ok()?, file.parse().ok()?))
}

/// The name of a stored file: the one it was sent with, without folders and with the extension of its type.
pub fn stored_name(sent: &str, checked: &CheckedFile) -> String {
    let last = sent.rsplit(['/', '\\']).next().unwrap_or_default();
    let visible: String = last.chars().filter(|c| !c.is_control()).collect();
    let stem = visible.rsplit_once('.').map_or(visible.as_str(), |(stem, _)| stem);
    let stem: String = stem.trim().trim_matches('.').chars().take(MAX_NAME_CHARS - 5).collect();
    let stem =
        kit::text::normalize_line(&stem, MAX_NAME_CHARS).unwrap_or_else(|_| "file".to_owned());
    format!("{stem}.{}", checked.content_type.extension())
}

/// Fails if the caller has uploaded too many files that are not attached to anything.
pub fn check_unattached(db: &Reader<'_>) -> Result<()> {
    let uploader = db.actor();
    let (count,): (i64,) = db.one(
        "select count(*) as files from file
         where account_id = :account and uploaded_by = :uploader and attached_to is null
           and removed_at is null",
        bind! { uploader },
    )?;
    let detail =
        "You have uploaded 100 files that are not used yet. Use them first, or wait a day.";
    Error::invalid_state(detail).fail_if(count >= MAX_UNATTACHED)
}

/// Creates the row of a stored file. Only the audit log mentions it, because only its uploader sees it.
pub fn create(tx: &Tx<'_>, stored: StoredFile) -> Result<File> {
    check_unattached(tx)?;
    let (width, height) = stored.dimensions.unzip();
    let file = copy_fields! {
        File {
            account_id: tx.account(),
            width: width.map(i64::from),
            height: height.map(i64::from),
            uploaded_by: tx.actor().to_owned(),
            attached_to: None,
            removed_at: None,
            created_at: tx.now(),
            updated_at: tx.now(),
            version: 1,
            ..stored { id, purpose, name, content_type, size, sha256 }
        }
    };
    tx.execute(File::INSERT, &file.bind())?;
    let details = json!({ "purpose": file.purpose, "size": file.size });
    tx.audit("file.uploaded", &file.id.to_string(), &details)?;
    Ok(file)
}

/// One file that the caller may see.
pub fn find(db: &Reader<'_>, access: &TeamAccess, id: FileId) -> Result<File> {
    let text =
        sql!(File::SELECT, " where account_id = :account and id = :id and removed_at is null");
    let file: File = db.one(text, bind! { id })?;
    Error::not_found().fail_if(!is_visible(db, access, &file)?)?;
    Ok(file)
}

/// The files among these that the caller can attach to an object: their own ones that are not attached yet, and those of
/// the object itself, in the order of the ids. `owner` is the id of the object, or empty.
pub fn list_attachable(db: &Reader<'_>, ids: &[FileId], owner: &str) -> Result<Vec<File>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let (list, uploader) = (ids.to_vec(), db.actor());
    let text = sql!(
        File::SELECT,
        " where account_id = :account and id in (:list) and removed_at is null
            and (attached_to = :owner or attached_to is null and uploaded_by = :uploader)"
    );
    let mut files: Vec<File> = db.all(text, bind! { list, owner, uploader })?;
    files.sort_by_key(|file| ids.iter().position(|id| *id == file.id));
    Ok(files)
}

fn is_visible(db: &Reader<'_>, access: &TeamAccess, file: &File) -> Result<bool> {
    let Some(owner) = &file.attached_to else {
        return Ok(file.uploaded_by == db.actor());
    };
    let corrupt = |_| Error::internal(format!("{} is attached to {owner}", file.id));
    match file.purpose {
        Purpose::Logo => Ok(access.check(owner.parse().map_err(corrupt)?).is_ok()),
        Purpose::Photo => CAN_SEE_PHOTO.get()?(db, access, owner.parse().map_err(corrupt)?),
        Purpose::Attachment => {
            CAN_SEE_ATTACHMENTS.get()?(db, access, owner.parse().map_err(corrupt)?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_no_folders_and_the_extension_of_the_type() {
        let pdf = CheckedFile {
            content_type: ContentType::Pdf,
            bytes: bytes::Bytes::new(),
            dimensions: None,
            thumbnail: None,
        };
        for (sent, stored) in [
            ("Plan.PDF", "Plan.pdf"),
            ("C:\\Users\\ana\\plan", "plan.pdf"),
            ("../../etc/passwd", "passwd.pdf"),
            ("evil.html", "evil.pdf"),
            ("a\r\nb\u{0}.pdf", "ab.pdf"),
            ("", "file.pdf"),
            ("..", "file.pdf"),
            ("Plano de Época 📅.docx", "Plano de Época 📅.pdf"),
        ] {
            assert_eq!(stored_name(sent, &pdf), stored, "{sent:?}");
        }
        assert_eq!(stored_name(&"x".repeat(500), &pdf).chars().count(), MAX_NAME_CHARS - 1);
    }

    #[test]
    fn keys_contain_the_account_and_the_file() {
        let (account, id) = (AccountId::from_bits(1), FileId::from_bits(2));
        for thumbnail in [false, true] {
            let key = store_key(account, id, thumbnail);
            assert_eq!(parse_store_key(&key), Some((account, id)));
        }
        for other in ["", "probe", "../x", "acc_1/file_2"] {
            assert_eq!(parse_store_key(other), None);
        }
    }
}
