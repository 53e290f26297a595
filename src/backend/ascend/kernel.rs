//! One operator ready to be launched, through the entry of CANN that its description names.

mod aclnn;
mod aclop;

use super::device::{Called, Device, Memory, Stream};
use super::libraries::Libraries;
use super::operator::{Entry, Operator, Tensor};
use super::report::CallFailure;
use super::symbols::AclnnFunctions;
use aclnn::Aclnn;
use aclop::Aclop;
use std::ffi::{CStr, CString, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// `ACL_OP_DEBUG_LEVEL`, and its value at which the compiler keeps the kernel and the JSON that describes it.
const DEBUG_LEVEL: c_int = 5;
const KEEPS_JSON: &CStr = c"3";
/// `ACL_DEBUG_DIR`.
const DEBUG_DIR: c_int = 6;

/// Why an operator is not ready.
pub enum Unready {
    /// A call failed.
    Call(CallFailure),
    /// The machine lacks something.
    Lacking(String),
}

impl From<CallFailure> for Unready {
    fn from(failure: CallFailure) -> Unready {
        Unready::Call(failure)
    }
}

/// An operator with its operands in memory, compiled or looked up.
pub enum Kernel<'a> {
    /// Through its `aclnn` function.
    Aclnn(Aclnn<'a>),
    /// Through the entries that take any operator type.
    Aclop(Aclop<'a>),
}

impl<'a> Kernel<'a> {
    /// Readies an operator. CANN looks its tiling up here, or at the first launch.
    pub fn prepare(
        operator: &Operator,
        memory: &Operands<'a>,
        device: &'a Device,
        libraries: &mut Libraries<'_>,
    ) -> Result<Kernel<'a>, Unready> {
        match operator.entry {
            Entry::AclnnMatmul(math) => Aclnn::prepare(operator, math, memory, device, libraries).map(Kernel::Aclnn),
            Entry::Aclop => Ok(Kernel::Aclop(Aclop::prepare(operator, memory, device)?)),
        }
    }

    /// Has an operator compiled; below `folder` the compiler leaves what it says of the kernel.
    pub fn compile(operator: &Operator, memory: &Operands<'_>, device: &Device, folder: &Path) -> Result<(), Unready> {
        let text = CString::new(folder.as_os_str().as_bytes())
            .map_err(|_| Unready::Lacking(format!("`{}` is no path", folder.display())))?;
        for (option, value) in [(DEBUG_LEVEL, KEEPS_JSON), (DEBUG_DIR, text.as_c_str())] {
            // SAFETY: `aclError aclSetCompileopt(aclCompileOpt, const char *)`, which copies the text.
            let code = unsafe { (device.functions.aclSetCompileopt)(option, value.as_ptr()) };
            device.check("aclSetCompileopt", code)?;
        }
        Aclop::prepare(operator, memory, device).map(drop)
    }

    /// Gives the device one run of it.
    pub fn launch(&self, stream: &Stream<'_>) -> Called<()> {
        match self {
            Kernel::Aclnn(kernel) => kernel.launch(stream),
            Kernel::Aclop(kernel) => kernel.launch(stream),
        }
    }
}

/// The operands of an operator on a device.
pub struct Operands<'a> {
    /// What it reads, filled.
    pub inputs: Vec<Memory<'a>>,
    /// What it writes.
    pub output: Memory<'a>,
}

impl<'a> Operands<'a> {
    /// Allocates and fills the operands.
    pub fn of(operator: &Operator, device: &'a Device) -> Called<Operands<'a>> {
        let filled = |tensor: &Tensor| {
            let memory = device.allocate(tensor.bytes() as usize)?;
            memory.write(&tensor.content()).map(|()| memory)
        };
        Ok(Operands {
            inputs: operator.inputs.iter().map(filled).collect::<Called<_>>()?,
            output: device.allocate(operator.output.bytes() as usize)?,
        })
    }
}

/// The functions of `aclnn` products; in words which are missing, and what could not be loaded.
pub fn operator_functions(libraries: &mut Libraries<'_>) -> Result<AclnnFunctions, String> {
    AclnnFunctions::resolve(libraries).map_err(|missing| {
        let failed: Vec<_> =
            libraries.attempts.iter().map(|a| format!("{}: {}", a.path.display(), a.outcome)).collect();
        let why = if failed.is_empty() { String::new() } else { format!("; {}", failed.join("; ")) };
        format!("the installed CANN lacks {}{why}", missing.join(", "))
    })
}

/// Sizes as CANN has them.
fn signed(shape: &[u64]) -> Vec<i64> {
    shape.iter().map(|&size| size as i64).collect()
}
