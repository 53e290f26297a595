//! A matrix product through its `aclnn` function.

use super::{Operands, Unready, operator_functions, signed};
use crate::backend::ascend::device::{Called, Device, Memory, Stream};
use crate::backend::ascend::libraries::Libraries;
use crate::backend::ascend::operator::{Operator, Tensor};
use crate::backend::ascend::symbols::AclnnFunctions;
use std::ffi::c_void;
use std::ptr::null_mut;

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
    pub fn prepare(
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

    pub fn launch(&self, stream: &Stream<'_>) -> Called<()> {
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
