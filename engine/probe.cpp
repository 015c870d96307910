// SPDX-License-Identifier: Apache-2.0
// Compiled and linked at configuration: whether what was found is oneDNN 3 over TBB, with a oneTBB and a Highway that
// fit.
#include <hwy/highway.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_scheduler_observer.h>
#include <dnnl.hpp>

#if DNNL_VERSION_MAJOR < 3
#error "oneDNN 3 is needed"
#endif
#if DNNL_CPU_RUNTIME != DNNL_RUNTIME_TBB
#error "oneDNN must run on TBB: built with another runtime it would compete with this device's threads"
#endif

int main() {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const dnnl::memory::desc desc({1, 16, 4, 4}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::nhwc);
  const dnnl::eltwise_forward::primitive_desc relu(engine, dnnl::prop_kind::forward_inference,
                                                   dnnl::algorithm::eltwise_relu, desc, desc);
  tbb::task_arena arena(1);
  arena.execute([] { tbb::parallel_for(0, 1, [](int) {}); });
  return hwy::SupportedTargets() != 0 && relu ? 0 : 1;
}
