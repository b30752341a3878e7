#pragma once

#include <string>

#include "veche/comm/grid/run/agreement.h"

namespace veche::grid {

// This member's certificate: renewed at half of its life by itself, or, where its warrant counts no more
// because who signed that was revoked, with a new one by another. The links' thread.
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
