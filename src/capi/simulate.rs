//! The simulator, CANN's default tilings, and candidates: what answers cases.

use super::convert::{TextOut, options, text};
use super::error::AoeStatus;
use super::guard::guard;
use super::option::{AoeOption, pairs};
use crate::cases::Parts;
use crate::session::environment::Environment;
use crate::session::options::{OptionMap, gather};
use crate::session::simulation;
use crate::status::Result;
use std::cell::RefCell;
use std::ffi::c_char;

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeSimulate(
    case_json: *const c_char,
    options: *const AoeOption,
    option_count: usize,
    buffer: *mut c_char,
    size: *mut usize,
) -> AoeStatus {
    let options = (options, option_count);
    // SAFETY: the header's contract.
    guard("AoeSimulate", || unsafe {
        let parts = |options: &_| simulation::pricing(options, &Environment::read());
        answer(case_json, options, (buffer, size), parts, crate::simulate::price)
    })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeTiling(
    case_json: *const c_char,
    options: *const AoeOption,
    option_count: usize,
    buffer: *mut c_char,
    size: *mut usize,
) -> AoeStatus {
    let options = (options, option_count);
    // SAFETY: the header's contract.
    guard("AoeTiling", || unsafe {
        answer(case_json, options, (buffer, size), simulation::parts, crate::defaults::tiling)
    })
}

/// Writes what `ask` says of a case with these options into the caller's buffer.
///
/// # Safety
///
/// The pointers are those of one of the functions above, by the header's contract.
unsafe fn answer(
    case_json: *const c_char,
    (options, option_count): (*const AoeOption, usize),
    (buffer, size): (*mut c_char, *mut usize),
    parts: impl FnOnce(&OptionMap) -> Result<Parts>,
    ask: impl FnOnce(&str, &mut Parts) -> Result<String>,
) -> Result<()> {
    // SAFETY: the contract of this function.
    let (case, options, answer) =
        unsafe { (text(case_json, "case_json")?, self::options(options, option_count)?, TextOut::new(buffer, size)?) };
    let mut parts = parts(&gather(pairs(&options))?)?;
    answer.write(&ask(case, &mut parts)?)
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeCandidates(
    question_json: *const c_char,
    options: *const AoeOption,
    option_count: usize,
    buffer: *mut c_char,
    size: *mut usize,
) -> AoeStatus {
    guard("AoeCandidates", || {
        // SAFETY: the header's contract.
        let (question, options, answer) = unsafe {
            (text(question_json, "question_json")?, self::options(options, option_count)?, TextOut::new(buffer, size)?)
        };
        let options = gather(pairs(&options))?;
        let told =
            once(question, &options, || crate::candidates::candidates(question, &mut simulation::parts(&options)?))?;
        if !answer.has_room(&told) {
            keep(question, options, &told);
        }
        answer.write(&told)
    })
}

/// An answer that found no room in its caller's buffer, with what was asked.
struct Unread {
    question: String,
    options: OptionMap,
    answer: String,
}

thread_local! {
    /// Who asks for the size of an answer asks for the answer next: a search is not made twice.
    static UNREAD: RefCell<Option<Unread>> = const { RefCell::new(None) };
}

/// The answer that is kept of this very question, else what `ask` says; nothing is kept afterwards.
fn once(question: &str, options: &OptionMap, ask: impl FnOnce() -> Result<String>) -> Result<String> {
    // A thread that is being torn down keeps nothing.
    let kept = UNREAD.try_with(|unread| unread.borrow_mut().take()).ok().flatten();
    match kept.filter(|unread| unread.question == question && unread.options == *options) {
        Some(unread) => Ok(unread.answer),
        None => ask(),
    }
}

/// Keeps an answer for this thread's next question.
fn keep(question: &str, options: OptionMap, answer: &str) {
    let unread = Unread { question: question.to_owned(), options, answer: answer.to_owned() };
    let _ = UNREAD.try_with(|kept| *kept.borrow_mut() = Some(unread));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_without_room_is_worked_out_once_and_no_other_question_gets_it() {
        let options = OptionMap::new();
        let mut asked = 0;
        let mut ask = |question: &str, options: &OptionMap| {
            once(question, options, || {
                asked += 1;
                Ok(format!("answer {asked}"))
            })
            .unwrap()
        };
        let first = ask("a", &options);
        keep("a", options.clone(), &first);
        assert_eq!(ask("a", &options), "answer 1", "asked for the size, then for the answer");
        assert_eq!(ask("a", &options), "answer 2", "what was read is kept no longer");
        keep("a", options.clone(), "answer 2");
        assert_eq!(ask("b", &options), "answer 3");
        keep("a", options.clone(), "answer 2");
        let part: OptionMap = [("soc_version".to_owned(), "Ascend910B4".to_owned())].into();
        assert_eq!(ask("a", &part), "answer 4");
    }
}
