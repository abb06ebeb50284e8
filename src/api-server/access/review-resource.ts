/** A review: POST only, and nothing is stored. */
export interface ReviewResource {
  readonly path: string;
  readonly group: string;
  readonly resource: string;
  readonly singular: string;
  readonly kind: string;
}

export const accessReviewResource = {
  path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
  group: 'authorization.k8s.io',
  resource: 'selfsubjectaccessreviews',
  singular: 'selfsubjectaccessreview',
  kind: 'SelfSubjectAccessReview',
} as const satisfies ReviewResource;

/** Tells who the user is. */
export const selfReviewResource = {
  path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
  group: 'authentication.k8s.io',
  resource: 'selfsubjectreviews',
  singular: 'selfsubjectreview',
  kind: 'SelfSubjectReview',
} as const satisfies ReviewResource;

/** Tells whose a token is. */
export const tokenReviewResource = {
  path: '/apis/authentication.k8s.io/v1/tokenreviews',
  group: 'authentication.k8s.io',
  resource: 'tokenreviews',
  singular: 'tokenreview',
  kind: 'TokenReview',
} as const satisfies ReviewResource;

/** The supported reviews. */
export const reviewResources = [accessReviewResource, selfReviewResource, tokenReviewResource] as const;
