//! One operator ready to be launched, through the entry of CANN that its description names.

use super::device::{Called, Device, Memory, Stream};
use super::libraries::Libraries;
use super::operator::{Attribute, Entry, Operator, Tensor};
use super::report::CallFailure;
use super::symbols::AclnnFunctions;
use std::ffi::{CStr, CString, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{null, null_mut};

/// `ACL_ENGINE_SYS`, `ACL_COMPILE_SYS`: CANN chooses.
const CHOSEN_BY_CANN: c_int = 0;
/// `ACL_OP_COMPILER_CACHE_MODE`.
const CACHE_MODE: c_int = 7;
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

/// `aclnnMatmul` with everything that it needs.
pub struct Aclnn<'a> {
    functions: AclnnFunctions,
    device: &'a Device,
    tensors: Vec<*mut c_void>,
    executor: *mut c_void,
    workspace: Memory<'a>,
    /// Bytes of the workspace that the operator asked for.
    workspace_bytes: u64,
}

impl<'a> Aclnn<'a> {
    fn prepare(
        operator: &Operator,
        math: i8,
        memory: &Operands<'a>,
        device: &'a Device,
        libraries: &mut Libraries<'_>,
    ) -> Result<Aclnn<'a>, Unready> {
        let functions = operator_functions(libraries).map_err(Unready::Lacking)?;
        let mut kernel = Aclnn {
            functions,
            device,
            tensors: Vec::new(),
            executor: null_mut(),
            workspace: device.allocate(0)?,
            workspace_bytes: 0,
        };
        for (tensor, memory) in operator.inputs.iter().zip(&memory.inputs) {
            kernel.add(tensor, memory)?;
        }
        kernel.add(&operator.output, &memory.output)?;
        let &[left, right, out] = &kernel.tensors[..] else {
            return Err(Unready::Lacking(format!("aclnnMatmul has three operands, not {}", kernel.tensors.len())));
        };
        let (size, executor) = (&raw mut kernel.workspace_bytes, &raw mut kernel.executor);
        // SAFETY: the documented prototype of `aclnnMatmulGetWorkspaceSize`; the tensors live, and it writes one
        // size and one executor.
        let code = unsafe { (kernel.functions.aclnnMatmulGetWorkspaceSize)(left, right, out, math, size, executor) };
        device.check("aclnnMatmulGetWorkspaceSize", code)?;
        // SAFETY: `aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor *)`; before its first run.
        let code = unsafe { (kernel.functions.aclSetAclOpExecutorRepeatable)(kernel.executor) };
        device.check("aclSetAclOpExecutorRepeatable", code)?;
        kernel.workspace = device.allocate(kernel.workspace_bytes as usize)?;
        Ok(kernel)
    }

    /// Describes an operand as a view: one that is read transposed is walked the other way.
    fn add(&mut self, tensor: &Tensor, memory: &Memory<'_>) -> Called<()> {
        let storage = signed(&tensor.shape);
        let mut strides: Vec<i64> = vec![1; storage.len()];
        for axis in (1..storage.len()).rev() {
            strides[axis - 1] = strides[axis] * storage[axis];
        }
        let mut view = storage.clone();
        if tensor.transposed {
            view.reverse();
            strides.reverse();
        }
        let (rank, dtype, format) = (view.len() as u64, tensor.dtype.ge_number(), tensor.format.ge_number());
        // SAFETY: the documented prototype of `aclCreateTensor`, which copies the three lists of `rank` sizes.
        let handle = unsafe {
            let (view, strides, storage) = (view.as_ptr(), strides.as_ptr(), storage.as_ptr());
            let create = self.functions.aclCreateTensor;
            create(view, rank, dtype, strides, 0, format, storage, rank, memory.address())
        };
        if handle.is_null() {
            return Err(self.device.nothing("aclCreateTensor"));
        }
        self.tensors.push(handle);
        Ok(())
    }

    fn launch(&self, stream: &Stream<'_>) -> Called<()> {
        let workspace = if self.workspace_bytes == 0 { null_mut() } else { self.workspace.address() };
        // SAFETY: the documented prototype of `aclnnMatmul`; the executor is repeatable, and the workspace has the
        // size that it asked for.
        let code =
            unsafe { (self.functions.aclnnMatmul)(workspace, self.workspace_bytes, self.executor, stream.handle()) };
        self.device.check("aclnnMatmul", code)
    }
}

impl Drop for Aclnn<'_> {
    fn drop(&mut self) {
        if !self.executor.is_null() {
            // SAFETY: `aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor *)`; a repeatable executor is its
            // user's to destroy, once.
            let _ = unsafe { (self.functions.aclDestroyAclOpExecutor)(self.executor) };
        }
        for &tensor in &self.tensors {
            // SAFETY: `aclnnStatus aclDestroyTensor(const aclTensor *)`; made by `aclCreateTensor`, destroyed once.
            let _ = unsafe { (self.functions.aclDestroyTensor)(tensor) };
        }
    }
}

/// An operator of any type, compiled, with everything that running it needs.
pub struct Aclop<'a> {
    device: &'a Device,
    op_type: CString,
    attributes: *mut c_void,
    /// Of the inputs, then of the output.
    descriptions: Vec<*mut c_void>,
    buffers: Vec<*mut c_void>,
    /// What descriptions of constants point to.
    constants: Vec<Vec<u8>>,
    inputs: usize,
}

impl<'a> Aclop<'a> {
    fn prepare(operator: &Operator, memory: &Operands<'_>, device: &'a Device) -> Result<Aclop<'a>, Unready> {
        let name = |text: &str| {
            CString::new(text).map_err(|_| Unready::Lacking(format!("`{text}` is no name of an operator")))
        };
        let functions = &device.functions;
        // SAFETY: `aclError aclSetCompileopt(aclCompileOpt, const char *)`, which copies the text.
        let code = unsafe { (functions.aclSetCompileopt)(CACHE_MODE, c"disable".as_ptr()) };
        device.check("aclSetCompileopt", code)?;
        let mut kernel = Aclop {
            device,
            op_type: name(&operator.op_type)?,
            // SAFETY: `aclopAttr *aclopCreateAttr()`.
            attributes: unsafe { (functions.aclopCreateAttr)() },
            descriptions: Vec::new(),
            buffers: Vec::new(),
            constants: Vec::new(),
            inputs: operator.inputs.len(),
        };
        if kernel.attributes.is_null() {
            return Err(device.nothing("aclopCreateAttr").into());
        }
        for (attribute, value) in &operator.attributes {
            kernel.set(&name(attribute)?, value)?;
        }
        let tensors = operator.inputs.iter().chain([&operator.output]);
        for (tensor, memory) in tensors.zip(memory.inputs.iter().chain([&memory.output])) {
            kernel.add(tensor, memory)?;
        }
        kernel.compile()?;
        Ok(kernel)
    }

    fn set(&self, name: &CStr, value: &Attribute) -> Result<(), Unready> {
        let (functions, attributes) = (&self.device.functions, self.attributes);
        let (function, code) = match value {
            Attribute::Flag(flag) => {
                // SAFETY: `aclError aclopSetAttrBool(aclopAttr *, const char *, uint8_t)`, which copies the name.
                let code = unsafe { (functions.aclopSetAttrBool)(attributes, name.as_ptr(), u8::from(*flag)) };
                ("aclopSetAttrBool", code)
            }
            Attribute::Number(number) => {
                // SAFETY: `aclError aclopSetAttrInt(aclopAttr *, const char *, int64_t)`, which copies the name.
                ("aclopSetAttrInt", unsafe { (functions.aclopSetAttrInt)(attributes, name.as_ptr(), *number) })
            }
            Attribute::Numbers(all) => {
                // SAFETY: `aclError aclopSetAttrListInt(aclopAttr *, const char *, int, const int64_t *)`, which copies
                // as many numbers as is said.
                let code = unsafe {
                    (functions.aclopSetAttrListInt)(attributes, name.as_ptr(), all.len() as c_int, all.as_ptr())
                };
                ("aclopSetAttrListInt", code)
            }
            Attribute::Text(text) => {
                let text = CString::new(text.as_str())
                    .map_err(|_| Unready::Lacking(format!("`{text}` is no value of an attribute")))?;
                // SAFETY: `aclError aclopSetAttrString(aclopAttr *, const char *, const char *)`, which copies both.
                let code = unsafe { (functions.aclopSetAttrString)(attributes, name.as_ptr(), text.as_ptr()) };
                ("aclopSetAttrString", code)
            }
        };
        Ok(self.device.check(function, code)?)
    }

    fn add(&mut self, tensor: &Tensor, memory: &Memory<'_>) -> Result<(), Unready> {
        let (device, functions) = (self.device, &self.device.functions);
        let (shape, stored) = (signed(&tensor.shape), signed(&tensor.stored_shape()));
        let dtype = tensor.dtype.ge_number();
        // SAFETY: `aclTensorDesc *aclCreateTensorDesc(aclDataType, int, const int64_t *, aclFormat)`, which copies
        // the sizes.
        let description = unsafe {
            let origin = tensor.origin_format().ge_number();
            (functions.aclCreateTensorDesc)(dtype, shape.len() as c_int, shape.as_ptr(), origin)
        };
        if description.is_null() {
            return Err(device.nothing("aclCreateTensorDesc").into());
        }
        self.descriptions.push(description);
        if tensor.constant.is_some() {
            self.set_constant(description, tensor.content())?;
        }
        if tensor.format != tensor.origin_format() {
            // SAFETY: `aclError aclSetTensorFormat(aclTensorDesc *, aclFormat)`.
            let code = unsafe { (functions.aclSetTensorFormat)(description, tensor.format.ge_number()) };
            device.check("aclSetTensorFormat", code)?;
            // SAFETY: `aclError aclSetTensorShape(aclTensorDesc *, int, const int64_t *)`, which copies the sizes.
            let code = unsafe { (functions.aclSetTensorShape)(description, stored.len() as c_int, stored.as_ptr()) };
            device.check("aclSetTensorShape", code)?;
        }
        // SAFETY: `aclDataBuffer *aclCreateDataBuffer(void *, size_t)`; the memory outlives this.
        let buffer = unsafe { (functions.aclCreateDataBuffer)(memory.address(), memory.bytes()) };
        if buffer.is_null() {
            return Err(device.nothing("aclCreateDataBuffer").into());
        }
        self.buffers.push(buffer);
        Ok(())
    }

    /// Tells the compiler the values of an operand.
    fn set_constant(&mut self, description: *mut c_void, mut content: Vec<u8>) -> Result<(), Unready> {
        let lacks = || Unready::Lacking("the Ascend runtime lacks aclSetTensorConst".to_owned());
        let set_constant = self.device.set_constant.ok_or_else(lacks)?;
        // SAFETY: `aclError aclSetTensorConst(aclTensorDesc *, void *, size_t)`; the content outlives the description,
        // should it not be copied.
        let code = unsafe { set_constant(description, content.as_mut_ptr().cast(), content.len()) };
        self.constants.push(content);
        Ok(self.device.check("aclSetTensorConst", code)?)
    }

    fn compile(&self) -> Called<()> {
        let (inputs, output) = self.descriptions.split_at(self.inputs);
        // SAFETY: the documented prototype of `aclopCompile`; the lists hold as many descriptions as is said.
        let code = unsafe {
            (self.device.functions.aclopCompile)(
                self.op_type.as_ptr(),
                inputs.len() as c_int,
                inputs.as_ptr(),
                output.len() as c_int,
                output.as_ptr(),
                self.attributes,
                CHOSEN_BY_CANN,
                CHOSEN_BY_CANN,
                null(),
            )
        };
        self.device.check("aclopCompile", code)
    }

    fn launch(&self, stream: &Stream<'_>) -> Called<()> {
        let (inputs, output) = self.descriptions.split_at(self.inputs);
        let (read, written) = self.buffers.split_at(self.inputs);
        // SAFETY: the documented prototype of `aclopExecuteV2`; the lists hold as many entries as is said.
        let code = unsafe {
            (self.device.functions.aclopExecuteV2)(
                self.op_type.as_ptr(),
                inputs.len() as c_int,
                inputs.as_ptr(),
                read.as_ptr(),
                output.len() as c_int,
                output.as_ptr(),
                written.as_ptr(),
                self.attributes,
                stream.handle(),
            )
        };
        self.device.check("aclopExecuteV2", code)
    }
}

impl Drop for Aclop<'_> {
    fn drop(&mut self) {
        let functions = &self.device.functions;
        for &buffer in &self.buffers {
            // SAFETY: `aclError aclDestroyDataBuffer(const aclDataBuffer *)`; made here, destroyed once.
            let _ = unsafe { (functions.aclDestroyDataBuffer)(buffer) };
        }
        for &description in &self.descriptions {
            // SAFETY: `void aclDestroyTensorDesc(const aclTensorDesc *)`; made here, destroyed once.
            unsafe { (functions.aclDestroyTensorDesc)(description) };
        }
        if !self.attributes.is_null() {
            // SAFETY: `void aclopDestroyAttr(const aclopAttr *)`; made here, destroyed once.
            unsafe { (functions.aclopDestroyAttr)(self.attributes) };
        }
    }
}
