//! An operator through the entries that take any type.

use super::{Operands, Unready, signed};
use crate::backend::ascend::device::{Called, Device, Memory, Stream};
use crate::backend::ascend::operator::{Attribute, Operator, Tensor};
use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr::null;

/// `ACL_ENGINE_SYS`, `ACL_COMPILE_SYS`: CANN chooses.
const CHOSEN_BY_CANN: c_int = 0;
/// `ACL_OP_COMPILER_CACHE_MODE`.
const CACHE_MODE: c_int = 7;

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
    pub fn prepare(operator: &Operator, memory: &Operands<'_>, device: &'a Device) -> Result<Aclop<'a>, Unready> {
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

    pub fn launch(&self, stream: &Stream<'_>) -> Called<()> {
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
