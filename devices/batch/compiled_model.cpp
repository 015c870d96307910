// SPDX-License-Identifier: Apache-2.0
// Requests that meet, and the batch that they are then.
#include <tenon/devices/batch/batch.hpp>

#include <algorithm>
#include <utility>

#include <tenon/core/ledger.hpp>
#include <tenon/runtime/device/device_host.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/properties.hpp>
#include <tenon/runtime/remote_tensor.hpp>

namespace tenon::inline v1::batch_device {
namespace {

/// The edge of rows that are copied from the batch's results to the requests' tensors.
EdgeId result_edge() {
  static const EdgeId edge = register_edge("BATCH: result");
  return edge;
}

class Request final : public InferRequestImpl {
 public:
  explicit Request(std::shared_ptr<BatchModel> owner)
      : owner_(std::move(owner)),
        alone_(owner_->single().create_infer_request()),
        inputs_(owner_->ports().inputs.size()),
        outputs_(owner_->ports().outputs.size()) {}

  void bind_input(std::size_t index, const Tensor& tensor) override {
    inputs_[index] = tensor;
    if (tensor) alone_.set_input_tensor(index, tensor);
  }
  void bind_output(std::size_t index, const Tensor& tensor) override {
    outputs_[index] = tensor;
    if (tensor) alone_.set_output_tensor(index, tensor);
  }

  void run(Inference& inference) override {
    inference.throw_if_cancelled();
    Item item{&inputs_, &outputs_};
    ran_alone_ = !owner_->meeting().run(item);
    if (ran_alone_) return run_member(alone_, inference);
    for (const Tensor& output : outputs_) inference.ledger().book_copied(result_edge(), output.size_bytes());
  }
  void cancel() noexcept override {
    try {
      alone_.cancel();  // A batch is the others' as well.
    } catch (...) {     // Ignored: the inference ended by itself.
    }
  }
  std::vector<ProfilingInfo> profiling_info() const override {
    if (ran_alone_) return alone_.get_profiling_info();
    throw Error(Code::kFailedPrecondition,
                "BATCH: the last inference was part of a batch, which has no times of its items; profile the model on "
                "the device that EXECUTION_DEVICES names");
  }

 private:
  std::shared_ptr<BatchModel> owner_;
  InferRequest alone_;
  std::vector<Tensor> inputs_, outputs_;
  bool ran_alone_ = true;
};

}  // namespace

bool Meeting::run(Item& item) {
  std::unique_lock lock(mutex_);
  waiting_.push_back(&item);
  if (waiting_.size() < size_) {
    const auto is_taken = [&] { return item.state != Item::State::kWaiting; };
    if (!changed_.wait_for(lock, patience_, is_taken)) {
      std::erase(waiting_, &item);
      return false;
    }
    changed_.wait(lock, [&] { return item.state != Item::State::kTaken; });
  } else {
    const std::vector<Item*> items = std::exchange(waiting_, {});
    for (Item* each : items) each->state = Item::State::kTaken;
    lock.unlock();
    run_batch(items);
    lock.lock();
    for (Item* each : items)
      if (each->state == Item::State::kTaken) each->state = Item::State::kDone;
    changed_.notify_all();
  }
  if (item.error) std::rethrow_exception(item.error);
  return item.state == Item::State::kDone;
}

/// All items are taken: their threads wait, and read nothing of them until the states change.
void Meeting::run_batch(const std::vector<Item*>& items) {
  bool is_bound = false;
  try {
    InferRequest request = take();
    const std::size_t inputs = items.front()->inputs->size(), outputs = items.front()->outputs->size();
    for (std::size_t i = 0; i < inputs; ++i) {
      std::vector<Tensor> tensors;
      for (const Item* item : items) tensors.push_back((*item->inputs)[i]);
      request.set_input_tensors(i, tensors);
    }
    is_bound = true;
    request.infer();
    for (std::size_t i = 0; i < outputs; ++i) {
      const Tensor all = request.get_output_tensor(i);
      for (std::size_t row = 0; row < items.size(); ++row) {
        Shape begin(all.shape().size(), 0), end = all.shape();
        begin[0] = row;
        end[0] = row + 1;
        Tensor target = (*items[row]->outputs)[i];
        const Tensor result(all, begin, end);
        if (auto* const remote = dynamic_cast<RemoteMemory*>(target.memory().get()))
          remote->copy_from(target, result);
        else
          result.copy_to(target);
      }
    }
    give_back(std::move(request));
  } catch (...) {
    const std::lock_guard lock(mutex_);
    for (Item* item : items) {
      if (is_bound)
        item->error = std::current_exception();
      else
        item->state = Item::State::kAlone;  // Each says what is wrong with its own tensors, if anything is.
    }
  }
}

InferRequest Meeting::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      InferRequest request = std::move(idle_.back());
      idle_.pop_back();
      return request;
    }
  }
  return batched_.create_infer_request();
}
void Meeting::give_back(InferRequest request) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(request));
}

BatchModel::BatchModel(const Model& model, std::string device, Compiled single, Compiled batched, std::size_t size,
                       std::chrono::milliseconds patience)
    : CompiledModelImpl(Ports::of(model)),
      single_(std::move(single)),
      batched_(std::move(batched)),
      size_(size),
      meeting_(batched_.model, size, patience) {
  table_.add_constant(model_name, model.get_friendly_name());
  table_.add_constant(device::priorities, device + "(" + std::to_string(size) + ")");
  table_.add_constant(auto_batch_timeout, static_cast<std::uint32_t>(patience.count()));
  table_.add(PropertyName(optimal_batch_size.name(), PropertyMutability::RO),
             [size] { return Any(static_cast<unsigned>(size)); });
  table_.add(PropertyName(optimal_number_of_infer_requests.name(), PropertyMutability::RO), [this, size] {
    const auto batches = batched_.model.get_property(optimal_number_of_infer_requests);
    return Any(static_cast<std::uint32_t>(std::max<std::uint32_t>(batches, 1) * size));
  });
}

std::unique_ptr<InferRequestImpl> BatchModel::create_request() { return std::make_unique<Request>(shared_from_this()); }

Any BatchModel::get_property(const std::string& name) const {
  if (table_.has(name)) return table_.get(name);
  return batched_.model.get_property(name);
}

void BatchModel::export_model(std::ostream&) const {
  throw NotImplemented("BATCH does not export: export the model from the device that EXECUTION_DEVICES names");
}

}  // namespace tenon::inline v1::batch_device
