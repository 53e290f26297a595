//! Paths in what processes tell each other: a text, or, for a path that is none, its bytes. For `#[serde(with)]`.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// A path in JSON.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub enum Form {
    Text(String),
    Bytes(Vec<u8>),
}

/// A path, or several, or perhaps one.
pub trait Paths: Sized {
    type Form: Serialize + DeserializeOwned;

    fn to_form(&self) -> Self::Form;
    fn of_form(form: Self::Form) -> Self;
}

impl Paths for PathBuf {
    type Form = Form;

    fn to_form(&self) -> Form {
        self.to_str()
            .map_or_else(|| Form::Bytes(self.as_os_str().as_bytes().to_vec()), |text| Form::Text(text.to_owned()))
    }

    fn of_form(form: Form) -> PathBuf {
        match form {
            Form::Text(text) => text.into(),
            Form::Bytes(bytes) => OsString::from_vec(bytes).into(),
        }
    }
}

impl<P: Paths> Paths for Option<P> {
    type Form = Option<P::Form>;

    fn to_form(&self) -> Self::Form {
        self.as_ref().map(P::to_form)
    }

    fn of_form(form: Self::Form) -> Self {
        form.map(P::of_form)
    }
}

impl<P: Paths> Paths for Vec<P> {
    type Form = Vec<P::Form>;

    fn to_form(&self) -> Self::Form {
        self.iter().map(P::to_form).collect()
    }

    fn of_form(form: Self::Form) -> Self {
        form.into_iter().map(P::of_form).collect()
    }
}

pub fn serialize<P: Paths, S: Serializer>(paths: &P, serializer: S) -> Result<S::Ok, S::Error> {
    paths.to_form().serialize(serializer)
}

pub fn deserialize<'de, P: Paths, D: Deserializer<'de>>(deserializer: D) -> Result<P, D::Error> {
    P::Form::deserialize(deserializer).map(P::of_form)
}
