#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>

#include <filesystem>
#include <unordered_set>

#include "veche/errors.h"
#include "veche/model/torch/import/imported.h"
#include "veche/model/torch/import/script_archive.h"
#include "veche/model/torch/library/random.h"

namespace veche::torch_model {
namespace {

// The module at `path`, such as "layer1.0"; creates missing ones on the way.
torch::nn::Module& branch(torch::nn::Module& root, const std::string& path) {
  const std::size_t dot = path.find('.');
  const std::string name = path.substr(0, dot);
  const auto children = root.named_children();
  const auto* found = children.find(name);
  torch::nn::Module& child =
      found != nullptr ? **found : *root.register_module(name, std::make_shared<torch::nn::Module>());
  return dot == std::string::npos ? child : branch(child, path.substr(dot + 1));
}

// A TorchScript module behind a tree of plain modules that hold its tensors under their names.
class Script : public Network {
 public:
  Script(torch::jit::Module module, std::string who) : module_(std::move(module)), who_(std::move(who)) {
    for (const auto& item : module_.named_parameters()) place(item.name, item.value, true);
    for (const auto& item : module_.named_buffers()) place(item.name, item.value, false);
    if (is_sequence()) link_children();
  }

  at::Tensor forward(const at::Tensor& images, Pass& pass) override {
    return pass_through(module_, plain_order(images), pass);
  }

  std::string why_not_chain() const override {
    return "its top level is a " + kind() + " and no torch.nn.Sequential";
  }

  void initialise(std::uint64_t) override {}
  bool channels_last() const override { return false; }
  bool independent_samples() const override { return false; }  // unknown

 private:
  std::string kind() const { return module_.type()->name() ? module_.type()->name()->name() : "module"; }
  // A Sequential runs its children in order; other modules' order is known only to their code.
  bool is_sequence() const { return kind() == "Sequential"; }

  void link_children() {
    bool begun = false, ordered = false;
    for (const auto& child : module_.named_children()) {
      // The first link receives images.
      Step step = [this, module = child.value, first = !std::exchange(ordered, true)](const at::Tensor& x,
                                                                                      Pass& pass) {
        return pass_through(module, first ? plain_order(x) : x, pass);
      };
      const bool trained = child.value.parameters().size() > 0;
      if (trained)
        link(child.name, {child.name}, std::move(step));
      else
        begun ? after_last(std::move(step)) : before_next(std::move(step));
      begun = begun || trained;
    }
  }

  at::Tensor pass_through(torch::jit::Module module, const at::Tensor& x, Pass& pass) {
    if (module_.is_training() != pass.training) module_.train(pass.training);
    const torch::jit::GraphOptimizerEnabledGuard as_written(false);  // recompiling costs more than it gains
    const RepeatableRandom random(pass.dropout.next());
    const c10::IValue output = run(module, x);
    if (!output.isTensor()) throw RequestError(who_ + " must give one tensor, not " + output.tagKind());
    if (pass.training && !checked_) check_places();
    return output.toTensor();
  }

  c10::IValue run(torch::jit::Module& module, const at::Tensor& images) {
    try {
      return module.forward({images});
    } catch (const c10::Error& error) {
      throw RunError(who_ + " failed: " + last_line(error.what_without_backtrace()));
      // from the interpreter: a trace through the script, the reason last
    } catch (const std::exception& error) {
      throw RunError(who_ + " failed: " + last_line(error.what()));
    }
  }

  void place(const std::string& name, const at::Tensor& tensor, bool parameter) {
    if (parameter && tensor.scalar_type() != at::kFloat)
      throw RequestError(who_ + " has the parameter '" + name + "' of type " +
                         std::string(c10::toString(tensor.scalar_type())) +
                         "; export the module after .float()");
    // shared under two names
    if (!tensor.defined() || !seen_.insert(tensor.unsafeGetTensorImpl()).second) return;
    const std::size_t dot = name.rfind('.');
    torch::nn::Module& holder = dot == std::string::npos ? *this : branch(*this, name.substr(0, dot));
    const std::string last = dot == std::string::npos ? name : name.substr(dot + 1);
    if (parameter)
      holder.register_parameter(last, tensor, tensor.requires_grad());
    else
      holder.register_buffer(last, tensor);
  }

  // Averaging and saving require fixed tensors; one that forward replaces would be silently lost.
  void check_places() {
    for (const auto& item : module_.named_buffers())
      if (!seen_.contains(item.value.unsafeGetTensorImpl()))
        throw RunError(who_ + " replaces its buffer '" + item.name +
                       "' in forward; let it write there, as in self." + item.name + ".copy_(...)");
    checked_ = true;
  }

  torch::jit::Module module_;
  const std::string who_;
  std::unordered_set<const c10::TensorImpl*> seen_;
  bool checked_ = false;
};

}  // namespace

std::shared_ptr<Network> make_script(const ModelSpec& spec) {
  const std::string file = spec.settings.file.value();
  const std::string who = "model.file: '" + file + "'";
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(file, unknown)) throw RequestError(who + " is missing or is no file");
  check_script_archive(file, who);
  std::optional<torch::jit::Module> module;
  try {
    module = torch::jit::load(file, at::kCPU);
  } catch (const std::exception&) {
    throw RequestError(who +
                       " is not a TorchScript module; write one with torch.jit.script(model).save(FILE)");
  }
  const auto network = std::make_shared<Script>(std::move(*module), who);
  if (network->parameters().empty())
    throw RequestError(
        who +
        " has no parameters to train: torch.jit.freeze and optimize_for_inference make constants "
        "of them; save the module before that");
  check_output(*network, spec, who);
  return network;
}

}  // namespace veche::torch_model
