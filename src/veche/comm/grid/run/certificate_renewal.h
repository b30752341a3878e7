#pragma once

#include <string>

#include "veche/comm/grid/run/agreement.h"

namespace veche::grid {

// This member's certificate: renewed at half of its life, and when who signed it was revoked. The links'
// thread.
class CertificateRenewal {
 public:
  CertificateRenewal(OwnPart& own, Agreement& agreement)
      : own_(own), agreement_(agreement), certificate_(own.files.certificate()) {}

  // From now on.
  void watch();
  // Where it is needed.
  void renew();

 private:
  void take(const std::string& der);

  OwnPart& own_;
  Agreement& agreement_;
  std::string certificate_;
};

}  // namespace veche::grid
