//! Tuning on devices, played by a stand-in for CANN's runtime.

#[path = "../ascend/cc.rs"]
mod cc;
mod check;
mod compiler;
mod faults;
mod host;
mod kernels;
mod loader;
mod networks;
mod processes;
mod stand_in;
mod tuning;
mod unified;
mod volumes;
