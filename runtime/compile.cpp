// SPDX-License-Identifier: Apache-2.0
// Compiling and importing once the device is known.
#include <cstring>

#include <tenon/core/mapped_file.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/internal/compile.hpp>

namespace tenon {
inline namespace v1 {
namespace {

/// Reads the model and records the identity of every file that it was read from.
void read_source(ModelSource& source) {
  const MappedFiles files;
  source.model = source.read();
  for (const MappedFiles::File& file : files.all())
    source.files.push_back({cache::absolute(file.path), file.size_bytes, file.modified_ns, file.changed_ns});
}

InputVariant::Key key_for(const ModelState& state, const std::optional<FrameOption>& frames) {
  InputVariant::Key key;
  if (!frames) return key;
  key.resize(state.inputs().size());
  const PortRef port = frames->input.empty() ? PortRef{true, state.check_index(true, 0)} : state.find(frames->input);
  if (!port.is_input) throw AssertFailure("input_frames: '" + frames->input + "' is an output", Code::kNotFound);
  key[port.index] = frames->info;
  return key;
}

}  // namespace

Tensor aligned_blob(const Tensor& blob) {
  if (!blob || !blob.is_contiguous() || !blob.is_host_addressable())
    throw AssertFailure("import_model: the blob must be a packed tensor in host memory");
  const Tensor bytes(TensorInfo{ElementType::kU8, Shape{blob.size_bytes()}, {}}, blob.memory(), blob.offset(),
                     blob.lease());
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % 64 == 0) return bytes;
  Tensor copy(ElementType::kU8, bytes.shape());
  if (bytes.size_bytes()) std::memcpy(copy.data(), bytes.data(), bytes.size_bytes());
  return copy;
}

std::shared_ptr<ModelState> import_state(const std::shared_ptr<SharedState>& shared, std::shared_ptr<Device> device,
                                         Tensor blob, const CompileOptions& options,
                                         const std::shared_ptr<RemoteContextImpl>& context) {
  if (options.cache.callbacks && options.cache.callbacks->decrypt) {
    const std::string plain =
        options.cache.callbacks->decrypt(std::string(static_cast<const char*>(blob.data()), blob.size_bytes()));
    blob = Tensor(ElementType::kU8, Shape{plain.size()});
    if (!plain.empty()) std::memcpy(blob.data(), plain.data(), plain.size());
  }
  auto compiled = cache::import_bytes(*device, blob, false, context, options.device);
  return std::make_shared<ModelState>(shared, std::move(device), std::move(compiled), options.policy);
}

std::shared_ptr<ModelState> compile_state(const std::shared_ptr<SharedState>& shared, std::shared_ptr<Device> device,
                                          ModelSource source, CompileOptions options) {
  source.cache = options.cache;
  if (const auto blob = options.device.find(hint::compiled_blob.name()); blob != options.device.end()) {
    const Tensor bytes = blob->second.as<Tensor>();
    options.device.erase(blob);
    return import_state(shared, std::move(device), aligned_blob(bytes), options, source.context);
  }
  if (!options.frames) {
    cache::Compiler compiler(*device, options.device, options.cache, source.context);
    if (compiler.active())
      if (auto compiled = compiler.load(source.origin))
        return std::make_shared<ModelState>(shared, std::move(device), std::move(compiled), true, std::move(source),
                                            options.device, options.policy);
  }
  if (source.model)
    // The caller may change its model afterwards, and plans for new frame formats are made from this one.
    source.model = source.model->clone();
  else if (source.read)
    read_source(source);
  else
    throw AssertFailure("compile_model: the model is null, and no cache entry has this CACHE_BLOB_ID");
  auto state =
      std::make_shared<ModelState>(shared, std::move(device), std::move(source), options.device, options.policy);
  state->variant(key_for(*state, options.frames));
  return state;
}

}  // namespace v1
}  // namespace tenon
