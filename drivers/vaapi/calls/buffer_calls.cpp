// SPDX-License-Identifier: Apache-2.0
// Buffers.
#include <cstring>

#include <tenon/drivers/vaapi/calls/calls.hpp>

namespace tenon::va::calls {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;

VAStatus create_buffer(VADriverContextP context, VAContextID context_id, VABufferType type, unsigned size,
                       unsigned elements, void* data, VABufferID* id) {
  return guarded([&]() -> VAStatus {
    if (!id) return VA_STATUS_ERROR_INVALID_PARAMETER;
    *id = VA_INVALID_ID;
    const Ref<Context> owner = acquire<Context>(display_of(context), context_id);
    if (!owner) return VA_STATUS_ERROR_INVALID_CONTEXT;
    if (!owner->task->takes(type)) return VA_STATUS_ERROR_UNSUPPORTED_BUFFERTYPE;
    if (size == 0 || elements == 0) return VA_STATUS_ERROR_INVALID_PARAMETER;
    if (std::uint64_t{size} * elements > kMaxBytes) return VA_STATUS_ERROR_ALLOCATION_FAILED;
    const Ref<Buffer> made = make_object<Buffer>(display_of(context), type, size, elements);
    if (data) std::memcpy(made->bytes().data(), data, made->bytes().size());
    *id = made->id();
    return VA_STATUS_SUCCESS;
  });
}

VAStatus set_elements(VADriverContextP context, VABufferID id, unsigned elements) {
  const Ref<Buffer> buffer = acquire<Buffer>(display_of(context), id);
  if (!buffer) return VA_STATUS_ERROR_INVALID_BUFFER;
  if (elements == 0 || elements > buffer->capacity()) return VA_STATUS_ERROR_INVALID_PARAMETER;
  buffer->elements = elements;
  return VA_STATUS_SUCCESS;
}

VAStatus map_buffer(VADriverContextP context, VABufferID id, void** address) {
  const Ref<Buffer> buffer = acquire<Buffer>(display_of(context), id);
  if (!buffer) return VA_STATUS_ERROR_INVALID_BUFFER;
  if (!address) return VA_STATUS_ERROR_INVALID_PARAMETER;
  if (buffer->surface()) buffer->surface()->wait(default_deadline());
  if (buffer->mapped.fetch_add(1) == 0 && buffer->memory()) buffer->memory()->begin(Access::kReadWrite);
  *address = buffer->type == VAEncCodedBufferType ? static_cast<void*>(&buffer->segment)
                                                  : static_cast<void*>(buffer->bytes().data());
  return VA_STATUS_SUCCESS;
}

VAStatus unmap_buffer(VADriverContextP context, VABufferID id) {
  const Ref<Buffer> buffer = acquire<Buffer>(display_of(context), id);
  if (!buffer) return VA_STATUS_ERROR_INVALID_BUFFER;
  int mapped = buffer->mapped.load();
  do {
    if (mapped == 0) return VA_STATUS_ERROR_OPERATION_FAILED;
  } while (!buffer->mapped.compare_exchange_weak(mapped, mapped - 1));
  if (mapped == 1 && buffer->memory()) buffer->memory()->end(Access::kReadWrite);
  return VA_STATUS_SUCCESS;
}

VAStatus destroy_buffer(VADriverContextP context, VABufferID id) {
  return destroy_id(display_of(context), id, Kind::kBuffer) ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_BUFFER;
}

VAStatus buffer_info(VADriverContextP context, VABufferID id, VABufferType* type, unsigned* size, unsigned* elements) {
  const Ref<Buffer> buffer = acquire<Buffer>(display_of(context), id);
  if (!buffer) return VA_STATUS_ERROR_INVALID_BUFFER;
  if (!type || !size || !elements) return VA_STATUS_ERROR_INVALID_PARAMETER;
  *type = buffer->type;
  *size = static_cast<unsigned>(buffer->element_bytes);
  *elements = buffer->elements;
  return VA_STATUS_SUCCESS;
}

VAStatus sync_buffer(VADriverContextP context, VABufferID id, std::uint64_t) {
  return acquire<Buffer>(display_of(context), id) ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_BUFFER;
}

}  // namespace

void fill_buffer_calls(VADriverVTable& table) {
  table.vaCreateBuffer = create_buffer;
  table.vaBufferSetNumElements = set_elements;
  table.vaMapBuffer = map_buffer;
  table.vaUnmapBuffer = unmap_buffer;
  table.vaDestroyBuffer = destroy_buffer;
  table.vaBufferInfo = buffer_info;
  table.vaSyncBuffer = sync_buffer;
}

}  // namespace tenon::va::calls
