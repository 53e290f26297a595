//! Between C's arguments and Rust's: every pointer that C hands over is read or written here.
//!
//! Each function checks what can be checked (NULL, alignment, counts, UTF-8, numbers of enumerations)
//! and names the parameter at fault. What cannot be checked is the contract of `include/aoe.h`: a
//! pointer that is not NULL points to what the header says, for the length of the call.

use super::error::without_nul;
use super::option::{AOE_MAX_OPTIONS, AoeOption};
use super::tensor::{AOE_DIM_UNKNOWN, AOE_MAX_RANK, AOE_RANK_UNKNOWN, AoeTensor};
use crate::graph::{DataType, Format, Shape, TensorDesc};
use crate::status::{Error, Result};
use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;

fn check_pointer<T>(pointer: *const T, name: &'static str) -> Result<()> {
    if pointer.is_null() {
        return Err(Error::param(name, "is NULL"));
    }
    if !pointer.is_aligned() {
        return Err(Error::param(name, format!("{pointer:p} is not aligned for its type")));
    }
    Ok(())
}

/// What a `const T *` points to.
///
/// # Safety
/// The pointer is NULL, misaligned, or valid for reads during `'a`.
pub(super) unsafe fn reference<'a, T>(pointer: *const T, name: &'static str) -> Result<&'a T> {
    check_pointer(pointer, name)?;
    // SAFETY: neither NULL nor misaligned, hence valid as the caller vouches.
    Ok(unsafe { &*pointer })
}

/// What a `T *` that is changed in place points to.
///
/// # Safety
/// The pointer is NULL, misaligned, or valid for reads and writes during `'a`, and nothing else uses it.
pub(super) unsafe fn reference_mut<'a, T>(pointer: *mut T, name: &'static str) -> Result<&'a mut T> {
    check_pointer(pointer, name)?;
    // SAFETY: neither NULL nor misaligned, hence valid and ours alone as the caller vouches.
    Ok(unsafe { &mut *pointer })
}

/// Where a result goes; what is there need not be initialised.
///
/// # Safety
/// The pointer is NULL, misaligned, or valid for writes during `'a`.
pub(super) unsafe fn out<'a, T>(pointer: *mut T, name: &'static str) -> Result<&'a mut MaybeUninit<T>> {
    // SAFETY: `MaybeUninit<T>` has the layout of `T` and asks nothing of the content; the rest is the
    // caller's promise.
    unsafe { reference_mut(pointer.cast::<MaybeUninit<T>>(), name) }
}

/// The `count` elements of an array, which may be NULL when there are none.
///
/// # Safety
/// The pointer is NULL, misaligned, or valid for reads of `count` elements during `'a`.
pub(super) unsafe fn array<'a, T>(pointer: *const T, count: usize, name: &'static str) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    check_pointer(pointer, name)?;
    if count.checked_mul(size_of::<T>().max(1)).is_none_or(|bytes| bytes > isize::MAX as usize) {
        return Err(Error::param(name, format!("{count} elements do not fit into memory")));
    }
    // SAFETY: neither NULL nor misaligned nor longer than an object can be; valid as the caller vouches.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// A string.
///
/// # Safety
/// The pointer is NULL or points to a NUL-terminated string that stays during `'a`.
pub(super) unsafe fn text<'a>(pointer: *const c_char, name: &'static str) -> Result<&'a str> {
    // SAFETY: passed on.
    unsafe { text_at(pointer, name, "") }
}

/// As [`text`]; `place` says where within the parameter the string is.
unsafe fn text_at<'a>(pointer: *const c_char, name: &'static str, place: &str) -> Result<&'a str> {
    if pointer.is_null() {
        return Err(Error::param(name, format!("{place}is NULL")));
    }
    // SAFETY: not NULL, hence a NUL-terminated string as the caller vouches.
    let bytes = unsafe { CStr::from_ptr(pointer) };
    bytes.to_str().map_err(|e| {
        let shown = bytes.to_string_lossy();
        let start: String = shown.chars().take(80).collect();
        Error::param(name, format!("{place}`{start}` is not UTF-8 (byte {})", e.valid_up_to()))
    })
}

/// An array of strings, none of which is NULL.
///
/// # Safety
/// As [`array()`] for the array, as [`text`] for each.
pub(super) unsafe fn texts<'a>(
    pointer: *const *const c_char,
    count: usize,
    name: &'static str,
) -> Result<Vec<&'a str>> {
    // SAFETY: passed on.
    let pointers = unsafe { array(pointer, count, name) }?;
    // SAFETY: passed on.
    pointers.iter().enumerate().map(|(i, text)| unsafe { text_at(*text, name, &format!("entry {i} ")) }).collect()
}

/// Options, copied.
///
/// # Safety
/// As [`array()`] for the array, as [`text`] for each key and value.
pub(super) unsafe fn options(options: *const AoeOption, count: usize) -> Result<Vec<(String, String)>> {
    if count > AOE_MAX_OPTIONS {
        return Err(Error::param("option_count", format!("{count} is more than {AOE_MAX_OPTIONS}")));
    }
    // SAFETY: passed on.
    let entries = unsafe { array(options, count, "options") }?;
    let pairs = entries.iter().enumerate().map(|(index, entry)| {
        // SAFETY: passed on.
        let key = unsafe { text_at(entry.key, "options", &format!("the key of entry {index} ")) }?;
        // SAFETY: passed on.
        let value = unsafe { text_at(entry.value, "options", &format!("the value of `{key}` ")) }?;
        Ok((key.to_owned(), value.to_owned()))
    });
    pairs.collect()
}

/// A tensor: its description, and its elements where it has any.
///
/// # Safety
/// As [`reference()`] for the pointer, as [`array()`] for its dimensions and data.
pub(super) unsafe fn tensor<'a>(
    pointer: *const AoeTensor,
    name: &'static str,
) -> Result<(TensorDesc, Option<&'a [u8]>)> {
    // SAFETY: passed on.
    let tensor = unsafe { reference(pointer, name) }?;
    // SAFETY: passed on.
    unsafe { tensor_at(tensor, name, "") }
}

/// An array of tensors' descriptions.
///
/// # Safety
/// As [`array()`] for the array, as [`tensor`] for each.
pub(super) unsafe fn tensors(pointer: *const AoeTensor, count: usize, name: &'static str) -> Result<Vec<TensorDesc>> {
    // SAFETY: passed on.
    let tensors = unsafe { array(pointer, count, name) }?;
    let descs = tensors.iter().enumerate().map(|(index, tensor)| {
        // SAFETY: passed on.
        Ok(unsafe { tensor_at(tensor, name, &format!("tensor {index}: ")) }?.0)
    });
    descs.collect()
}

unsafe fn tensor_at<'a>(t: &AoeTensor, name: &'static str, place: &str) -> Result<(TensorDesc, Option<&'a [u8]>)> {
    let bad = |what: String| Err(Error::param(name, format!("{place}{what}")));
    let Some(dtype) = DataType::from_ge(t.data_type) else {
        return bad(format!("{} is no data type", t.data_type));
    };
    let Some(format) = Format::from_ge(t.format).filter(|f| f.ge_number() == t.format) else {
        return bad(format!("{} is no format", t.format));
    };
    if t.dim_count > AOE_MAX_RANK {
        return bad(format!("{} dimensions are more than {AOE_MAX_RANK}", t.dim_count));
    }
    if !t.reserved.is_null() {
        return bad("`reserved` is not NULL".to_owned());
    }
    // SAFETY: passed on.
    let dims = unsafe { array(t.dims, t.dim_count, name) }?;
    let shape = match dims {
        [AOE_RANK_UNKNOWN] => Shape::unknown_rank(),
        dims => Shape::new(dims),
    };
    // Tilings and banks count in 32-bit integers.
    let sizes = AOE_DIM_UNKNOWN..=i64::from(i32::MAX);
    if let Some(dim) = shape.dims().and_then(|dims| dims.iter().find(|d| !sizes.contains(*d))) {
        return bad(format!("{dim} is no dimension: it must be 0 to {}, or {AOE_DIM_UNKNOWN}", i32::MAX));
    }
    let desc = TensorDesc { dtype, shape, format };
    if t.data.is_null() {
        return if t.data_size == 0 { Ok((desc, None)) } else { bad("`data` is NULL but `data_size` is not 0".into()) };
    }
    let Some(bytes) = desc.bytes() else {
        return bad(format!("has `data`, but {} does not say how much: state its whole shape", desc.shape));
    };
    if bytes != t.data_size as u64 {
        let (shape, dtype) = (&desc.shape, dtype.name());
        return bad(format!("`data_size` is {}, which is not the size of {shape} {dtype}", t.data_size));
    }
    // SAFETY: passed on.
    let data = unsafe { array(t.data.cast::<u8>(), t.data_size, name) }?;
    Ok((desc, Some(data)))
}

/// A caller's buffer for a text, by the protocol of `include/aoe.h`.
pub(super) struct TextOut<'a> {
    buffer: *mut c_char,
    size: &'a mut usize,
}

impl TextOut<'_> {
    /// Checks what can be checked before the text is made.
    ///
    /// # Safety
    /// As [`reference_mut`] for `size`; `buffer` is NULL or valid for writes of `*size` bytes.
    pub(super) unsafe fn new(buffer: *mut c_char, size: *mut usize) -> Result<Self> {
        // SAFETY: passed on.
        Ok(TextOut { buffer, size: unsafe { reference_mut(size, "size") }? })
    }

    /// Whether the caller's buffer takes a text.
    pub(super) fn has_room(&self, text: &str) -> bool {
        !self.buffer.is_null() && *self.size > text.len()
    }

    /// Writes the text and its size, or the size alone where there is no buffer or too small a one.
    pub(super) fn write(self, text: &str) -> Result<()> {
        self.write_bytes(without_nul(text).as_bytes())
    }

    /// As [`TextOut::write`], for a text that holds no NUL.
    pub(super) fn write_bytes(self, text: &[u8]) -> Result<()> {
        let given = std::mem::replace(self.size, text.len() + 1);
        if self.buffer.is_null() {
            return Ok(());
        }
        if given <= text.len() {
            return Err(Error::BufferTooSmall { given, needed: text.len() + 1 });
        }
        // SAFETY: as `new` demands, the buffer holds `given` bytes, which is more than the text; it is
        // the caller's and thus apart from our text.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), self.buffer.cast::<u8>(), text.len());
            self.buffer.add(text.len()).write(0);
        }
        Ok(())
    }
}
