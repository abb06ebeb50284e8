/** A resource of the review APIs: it is only created, and nothing is stored. */
export interface ReviewResource {
  readonly group: string;
  readonly resource: string;
  readonly kind: string;
}

/** The supported reviews: what the user may do, who the user is, whose a token is. */
export const reviewResources = [
  { group: 'authorization.k8s.io', resource: 'selfsubjectaccessreviews', kind: 'SelfSubjectAccessReview' },
  { group: 'authentication.k8s.io', resource: 'selfsubjectreviews', kind: 'SelfSubjectReview' },
  { group: 'authentication.k8s.io', resource: 'tokenreviews', kind: 'TokenReview' },
] as const satisfies readonly ReviewResource[];

export const [accessReviewResource, selfReviewResource, tokenReviewResource] = reviewResources;

export function reviewAt(path: string): (typeof reviewResources)[number] | undefined {
  return reviewResources.find(({ group, resource }) => path === `/apis/${group}/v1/${resource}`);
}
