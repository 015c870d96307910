/* SPDX-License-Identifier: Apache-2.0 */
/* A model on existing memory, from C: c_remote [device]. The input is memory behind a descriptor, like a camera's
 * picture or a buffer of another API; the output is in pages of this program. The NPU works on both in place: the
 * ledger shows that nothing was copied. Exits with 77 if there is no such device. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/relu.h"

/* A page, the smallest amount of memory that can be shared. */
enum { kBytes = kElements * sizeof(float) };

static void check_system(int failed, const char* what) {
  if (!failed) return;
  perror(what);
  exit(1);
}

/* Any memory with a descriptor will do: here a memfd that cannot shrink, on hardware a dma-buf. */
static float* shared_memory(int* fd) {
  *fd = memfd_create("input", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  check_system(*fd < 0 || ftruncate(*fd, kBytes) != 0 || fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0, "memfd");
  void* memory = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
  check_system(memory == MAP_FAILED, "mmap");
  return memory;
}

int main(int argc, char** argv) {
  const char* device = argc > 1 ? argv[1] : "NPU";
  const size_t shape[] = {1, kElements};
  tenon_core_t* core = NULL;
  tenon_model_t* model = NULL;
  tenon_compiled_model_t* compiled = NULL;
  tenon_infer_request_t* request = NULL;
  tenon_tensor_t *input = NULL, *output = NULL;

  check(tenon_core_create(&core), "core");
  tenon_remote_context_t* context = context_of(core, device);
  char* params = NULL;
  size_t count = 0;
  /* For an NPU, the handle of Level Zero's context. */
  print_params("context", tenon_remote_context_get_params(context, &count, &params), &params);
  check(tenon_core_read_model_from_memory(core, kRelu, sizeof kRelu - 1, NULL, &model), "model");
  check(tenon_core_compile_model_in_context(core, model, context, NULL, &compiled), "compile");
  check(tenon_compiled_model_create_infer_request(compiled, &request), "request");

  int fd = -1;
  float* x = shared_memory(&fd);
  check(tenon_remote_context_create_tensor_from_fd(context, TENON_TYPE_F32, 2, shape, fd, TENON_USE_INPUT, &input),
        "input from a descriptor");
  float* y = aligned_alloc((size_t)sysconf(_SC_PAGESIZE), kBytes);
  check_system(!y, "pages");
  check(tenon_remote_context_create_tensor_from_memory(context, TENON_TYPE_F32, 2, shape, y, TENON_USE_OUTPUT, &output),
        "output in own pages");
  print_params("input", tenon_remote_tensor_get_params(input, &count, &params), &params);

  check(tenon_infer_request_set_tensor(request, "x", input), "set input");
  check(tenon_infer_request_set_tensor(request, "y", output), "set output");
  int wrong = 0;
  for (int round = 1; round <= 3; ++round) {
    for (int i = 0; i < kElements; ++i) x[i] = (float)(i % 2 ? -i : i * round);
    check(tenon_infer_request_infer(request), "infer");
    for (int i = 0; i < kElements; ++i) wrong += y[i] != (float)(i % 2 ? 0 : i * round);
  }
  printf("output: %g %g %g %g ...; %d wrong\n", y[0], y[1], y[2], y[3], wrong);

  const unsigned long long copied = copied_bytes(request);
  printf("copied %llu B\n", copied);

  tenon_infer_request_free(request);
  tenon_tensor_free(input);
  tenon_tensor_free(output);
  tenon_compiled_model_free(compiled);
  tenon_model_free(model);
  tenon_remote_context_free(context);
  tenon_core_free(core);
  free(y); /* After the tensor that uses it. */
  munmap(x, kBytes);
  close(fd);
  return wrong || copied ? 1 : 0;
}
