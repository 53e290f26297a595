//! Where cases come from and answers go to: files, pipes, the standard streams.

use crate::interrupt::Unfinished;
use aoe::output_file::directory_of;
use aoe::status::{Error, Result};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The name that stands for a standard stream.
const STANDARD: &str = "-";

/// What is read.
pub struct Input {
    reader: Box<dyn BufRead>,
    /// Its name in messages.
    pub name: PathBuf,
    /// Device and number of the file, where it is one.
    identity: Option<(u64, u64)>,
}

impl Input {
    /// Opens a file or pipe; `-` is standard input.
    pub fn open(path: &str) -> Result<Input> {
        if path == STANDARD {
            let reader = Box::new(BufReader::new(io::stdin()));
            return Ok(Input { reader, name: "standard input".into(), identity: None });
        }
        let name = PathBuf::from(path);
        let failed = |e: io::Error| Error::file("open", &name, e);
        let file = File::open(&name).map_err(failed)?;
        let data = file.metadata().map_err(failed)?;
        if data.is_dir() {
            return Err(Error::file("read", &name, "it is a directory"));
        }
        let identity = data.is_file().then_some((data.dev(), data.ino()));
        Ok(Input { reader: Box::new(BufReader::with_capacity(1 << 16, file)), name, identity })
    }

    /// Nothing to read, for what only writes.
    pub fn none() -> Input {
        Input { reader: Box::new(io::empty()), name: PathBuf::new(), identity: None }
    }

    /// The stream.
    pub fn reader(&mut self) -> &mut dyn BufRead {
        &mut *self.reader
    }
}

/// Makes a file and tells its name.
type Maker<'a> = dyn Fn(&mut Option<PathBuf>) -> Result<NamedTempFile> + 'a;

/// What is written. A file gets its content only when all of it is there.
pub enum Output {
    /// Standard output.
    Standard(BufWriter<io::Stdout>),
    /// A pipe or device, which takes what it is given at once.
    Special(BufWriter<File>, PathBuf),
    /// A file beside the one that it will replace.
    Whole(BufWriter<NamedTempFile>, PathBuf),
}

impl Output {
    /// Opens a file, pipe or device; `-` is standard output.
    ///
    /// Fails with [`Error::Option`] where the output would replace the input.
    pub fn open(path: &str, input: &Input) -> Result<Output> {
        Output::opened(path, input, |make| Unfinished::listen()?.create(make))
    }

    /// Writes all of a text to a file, pipe or device; `-` is standard output. A reader that closed the pipe has what it
    /// wanted.
    pub fn write(path: &str, text: &str) -> Result<()> {
        let mut output = Output::open(path, &Input::none())?;
        match output.writer().write_all(text.as_bytes()) {
            Ok(()) => output.finish(),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(output.error(&error)),
        }
    }

    /// [`Output::open`] for commands that handle signals and end by themselves.
    pub fn open_attended(path: &str, input: &Input) -> Result<Output> {
        Output::opened(path, input, |make| make(&mut None))
    }

    /// `watched` makes the unfinished file, with its name to be known to who removes it.
    fn opened(path: &str, input: &Input, watched: impl FnOnce(&Maker<'_>) -> Result<NamedTempFile>) -> Result<Output> {
        if path == STANDARD {
            return Ok(Output::Standard(BufWriter::new(io::stdout())));
        }
        // A link stays one: the file that it names is replaced.
        let path = std::fs::canonicalize(path).unwrap_or_else(|_| PathBuf::from(path));
        let failed = |e: io::Error| Error::file("write", &path, e);
        let mode = match std::fs::metadata(&path) {
            Ok(data) if input.identity == Some((data.dev(), data.ino())) => {
                return Err(Error::option("output", format!("{} is the input too", path.display())));
            }
            Ok(data) if data.is_dir() => return Err(Error::file("write", &path, "it is a directory")),
            Ok(data) if !data.is_file() => {
                let file = OpenOptions::new().write(true).open(&path).map_err(failed)?;
                return Ok(Output::Special(BufWriter::new(file), path));
            }
            Ok(data) => {
                // Replacing a file asks for no right to write it; the user's wish to keep it counts.
                OpenOptions::new().write(true).open(&path).map_err(failed)?;
                data.mode() & 0o7777
            }
            Err(e) if e.kind() == ErrorKind::NotFound => 0o666,
            Err(e) => return Err(failed(e)),
        };
        let directory = directory_of(&path);
        let permissions = std::fs::Permissions::from_mode(mode);
        // Bits that the umask takes away from a new file are given to one that replaces another.
        let mut builder = tempfile::Builder::new();
        builder.prefix(".aoe-").suffix(".tmp").permissions(permissions.clone());
        let file = watched(&|known| {
            let file = builder.tempfile_in(directory).map_err(failed)?;
            *known = Some(file.path().to_owned());
            Ok(file)
        })?;
        if path.exists() {
            file.as_file().set_permissions(permissions).map_err(failed)?;
        }
        Ok(Output::Whole(BufWriter::with_capacity(1 << 16, file), path))
    }

    /// The stream.
    pub fn writer(&mut self) -> &mut dyn Write {
        match self {
            Output::Standard(writer) => writer,
            Output::Special(writer, _) => writer,
            Output::Whole(writer, _) => writer,
        }
    }

    /// The error for a failure to write.
    pub fn error(&self, error: &io::Error) -> Error {
        match self {
            Output::Standard(_) => Error::file("write", Path::new("standard output"), error),
            Output::Special(_, path) => Error::file("write", path, error),
            Output::Whole(_, path) => {
                Error::file("write", path, format!("{error}; the file was left as it was, without any answer"))
            }
        }
    }

    /// Hands over what is still held back, and puts a file where it belongs. A reader that went away has what it wanted.
    pub fn finish(mut self) -> Result<()> {
        // Dropped, a buffer would swallow the error.
        match self.writer().flush() {
            Err(e) if e.kind() == ErrorKind::BrokenPipe => return Ok(()),
            flushed => flushed.map_err(|e| self.error(&e))?,
        }
        let Output::Whole(writer, path) = self else { return Ok(()) };
        let failed = |e: io::Error| Error::file("write", &path, e);
        let file = writer.into_inner().map_err(|e| failed(e.into_error()))?;
        file.persist(&path).map_err(|e| failed(e.error))?;
        Ok(())
    }
}
