#include "veche/model/onnx/onnx_file.h"

#include "veche/base/module/module.h"

namespace veche {

std::string onnx_file(const OperatorGraph& graph, const std::string& version) {
  static const Module onnx{"veche_onnx.so", "ONNX files", "libonnx-dev"};
  std::string bytes;
  module_function<WriteOnnx>(onnx, kWriteOnnxSymbol)(graph, version, bytes);
  return bytes;
}

}  // namespace veche
