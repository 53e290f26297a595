//! Banks and results on disk, whatever becomes of the processes that write them.

#[path = "../ascend/cc.rs"]
mod cc;
mod faults;
mod leaks;
mod processes;
mod publication;
