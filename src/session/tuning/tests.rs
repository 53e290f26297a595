//! What is told where several things fail.

use super::*;

#[test]
fn that_records_are_lost_is_told_before_a_lost_result_file_and_that_before_an_interrupt() {
    let lost = || Error::directory("write to", Path::new("/bank"), "the records are elsewhere");
    let file = || Error::file("write", Path::new("/work/result.json"), "full");
    let told = |ended, written| the_one_to_tell(ended, written).map_err(|error| error.to_string());
    assert_eq!(told(Err(lost()), Err(file())), Err(lost().to_string()));
    assert_eq!(told(Err(lost()), Ok(())), Err(lost().to_string()));
    assert_eq!(told(Err(Error::Cancelled), Err(file())), Err(file().to_string()));
    assert_eq!(told(Ok(()), Err(file())), Err(file().to_string()));
    assert_eq!(told(Ok(()), Ok(())), Ok(()));
}
