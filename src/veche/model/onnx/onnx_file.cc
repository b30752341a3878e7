#include "veche/model/onnx/onnx_file.h"

#include "veche/base/module/modules.h"

namespace veche {

std::string onnx_file(const OperatorGraph& graph, const std::string& version) {
  std::string bytes;
  module_function<WriteOnnx>(modules::kOnnx, kWriteOnnxSymbol)(graph, version, bytes);
  return bytes;
}

}  // namespace veche
